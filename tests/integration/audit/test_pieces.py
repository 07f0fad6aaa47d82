"""Do several processes find what one finds?"""

import pytest

from audit import checkpoints, pieces
from audit.bench.fill import fill
from audit.held import hold
from audit.models import Checkpoint, Record, Seal, Subject, Tile
from audit.verify import verify
from tests.factories import NOW, later

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]

SIZE = 1_100


@pytest.fixture
def held(monkeypatch):
    """A log of four whole pieces and some more; a checkpoint in the third, which is held and kept."""
    monkeypatch.setattr(pieces, "PIECE", 256)
    monkeypatch.setattr("audit.bench.fill.AT_ONCE", 700)
    fill("main", 700)
    kept = checkpoints.sign(now=NOW)
    assert kept is not None
    fill("main", SIZE, after=700)
    checkpoints.sign(now=later(minutes=1))
    return hold([kept.note], kept.key)


def test_two_processes_find_a_log_good_that_is(held):
    alone = verify(held=held)
    assert (alone.verdict, alone.checked) == ("verified", SIZE)
    assert verify(held=held, processes=2) == alone
    incrementally = verify(held=held, incremental=True, processes=2)
    assert (incrementally.verdict, incrementally.since, incrementally.root) == ("verified", 700, alone.root)


def _leaf(seq):
    Record.objects.filter(seal__seq=seq).update(leaf_hash="0" * 64)


ATTACKS = {
    "a leaf in the second piece": lambda: _leaf(300),
    "a gap": lambda: Seal.objects.filter(seq=400).delete(),
    "a chain value between two pieces": lambda: Seal.objects.filter(seq=511).update(chain="0" * 64),
    "a hash of the tree": lambda: Tile.objects.filter(level=1, number=1).update(root="0" * 64),
    "a subject in the third": lambda: Subject.objects.filter(record__seal__seq=600).delete(),
    "a checkpoint kept": lambda: Checkpoint.objects.filter(size=700).update(root="0" * 64),
    "the tail": lambda: _leaf(1_090),
}


def test_two_processes_find_the_same_fault_as_one(held, tampering):
    with tampering():
        for name, attack in reversed(ATTACKS.items()):  # each stands before those that were made already
            attack()
            alone, together = verify(held=held), verify(held=held, processes=2)
            assert alone.fault is not None, name
            assert together.fault == alone.fault, name
            assert together.checked == alone.checked, name
