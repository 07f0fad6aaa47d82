"""Is a batch worked newest first, each action once, honestly counted, and restored exactly?"""

import pytest

from sideeffects import batches
from sideeffects.batches import Scope
from sideeffects.models import BatchItem, Effect
from sideeffects.services import batch, batch_work
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from tests import factories
from tests.external import WORKER, bodies
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def notes(by, number, *, start=0, **call):
    return [
        factories.run(by, "note.create", {"title": f"n{one}", "body": ""}, now=later(seconds=one), **call).group
        for one in range(start, start + number)
    ]


def started(scope=None, *, by=None, now=None, reason="", **more):
    return batch.start(
        scope=scope or Scope(conversation="c1"),
        by=by or person("alice"),
        now=now or later(hours=1),
        reason=reason,
        via="click",
        **more,
    )


def worked(row, *, now=None):
    batch_work.work(by=WORKER, clock=lambda: now or later(hours=2))
    row.refresh_from_db()
    return row


def told(row):
    return batches.totals(row, now=NOW)


def test_seven_actions_in_chunks_of_two_each_once(monkeypatch):
    monkeypatch.setattr(batch_work, "GROUPS", 2)
    groups = notes(planner(), 7)
    row = worked(started())
    assert (row.state, row.groups, row.effects) == ("finished", 7, 7)
    assert told(row).groups == {"revoked": 7}
    assert told(row).effects == {"revoked": 7}
    compensated = bodies("COMPENSATE")
    turns = [sorted(body["group"] for body in compensated[first : first + 2]) for first in range(0, 7, 2)]
    newest = [str(group.pk) for group in reversed(groups)]
    assert turns == [sorted(newest[first : first + 2]) for first in range(0, 7, 2)]
    assert {body["data"]["batch"] for body in compensated} == {str(row.pk)}
    assert len(bodies("batch_started")) == len(bodies("batch_finished")) == 1
    assert set(BatchItem.objects.values_list("revocation__batch", flat=True)) == {row.pk}


def test_a_restore_of_a_batch_touches_exactly_what_the_batch_touched():
    by, alice = planner(), person("alice")
    before, other = notes(by, 1), notes(by, 1, start=5, conversation="c2")
    _revoked(before, now=later(minutes=1))
    groups = notes(by, 3, start=10)
    _revoked(other, now=later(minutes=2))
    row = worked(started())
    assert told(row).groups == {"revoked": 4}
    assert told(row).restorable == 3
    undoing = worked(batch.restore(batch=row.pk, by=alice, now=later(hours=3), reason=""), now=later(hours=4))
    assert told(undoing).groups == {"restored": 3}
    assert told(undoing).effects == {"restored": 3}
    assert told(row).groups == {"revoked": 1, "restored": 3}
    assert told(row).restorable == 0
    standing = set(Effect.objects.filter(state="active").values_list("group", flat=True))
    assert standing == {group.pk for group in groups}
    assert {body["data"]["batch"] for body in bodies("restored")} == {str(undoing.pk)}


def _revoked(groups, *, now):
    for result in revoke(
        groups=[group.pk for group in groups], by=person("alice"), now=now, reason="", trigger=Trigger.CLICK
    ):
        result.unwrap()
