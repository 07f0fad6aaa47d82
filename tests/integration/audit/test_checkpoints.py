"""What does the signer sign, what does it refuse, and what survives a crash?"""

import json
import stat
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from audit import checkpoints, log, merkle, note, outside, tasks, tree
from audit.checkpoints import NotAnExtensionError, RootsDifferError
from audit.events import Party
from audit.models import Checkpoint, Record, Seal, Subject, Tile
from audit.verify import verify
from tests.entries import granted, revoked, sealed, write
from tests.factories import NOW, later
from tests.proofs import holding, plain_root, signed

pytestmark = [pytest.mark.both, pytest.mark.django_db]
OPERATOR = Party("system", "operator", "operator")


def leaves():
    return [bytes.fromhex(leaf) for leaf in Seal.objects.order_by("seq").values_list("record__leaf_hash", flat=True)]


def opened(kept):
    return note.open_checkpoint(kept.note, note.read_verifiers(kept.key))


def restored(size):
    """Take the tables back to how a backup had them."""
    gone = list(Seal.objects.filter(seq__gte=size).values_list("record_id", flat=True))
    Checkpoint.objects.filter(size__gt=size).delete()
    Tile.objects.filter(level=1, number__gte=size // 256).delete()
    Seal.objects.filter(seq__gte=size).delete()
    Subject.objects.filter(record_id__in=gone).delete()
    Record.objects.filter(pk__in=gone).delete()


def test_a_checkpoint_is_the_rfcs_root_over_all_sealed_records():
    sealed(5)
    kept = signed()
    head = opened(kept)
    assert (head.size, head.root, head.origin) == (5, plain_root(leaves()), kept.origin)
    row = Checkpoint.objects.get()
    assert (row.size, row.root, row.log) == (5, head.root.hex(), "main")


def test_nothing_new_is_nothing_signed_and_an_empty_log_has_no_checkpoint():
    assert checkpoints.sign(now=NOW) is None
    sealed(2)
    first = signed()
    assert signed() == first
    assert Checkpoint.objects.count() == 1


def test_it_is_published_whole_and_what_is_secret_is_for_its_owner_alone(settings):
    sealed(3)
    kept = signed()
    published = settings.CHECKPOINT_DIR / "main"
    assert (published / "checkpoint").read_text() == kept.note
    assert (published / "epoch-1/000000000003.checkpoint").read_text() == kept.note
    assert (published / "keys").read_text() == kept.key + "\n"
    for secret in (settings.DATA_DIR / "keys/main.skey", settings.DATA_DIR / "checkpoints/main.memory.json"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert "PRIVATE" not in kept.key + kept.note


def test_the_log_grows_and_each_checkpoint_leads_to_the_next():
    sizes = [1, 3, 300, 515]
    kept = []
    for size in sizes:
        write(*(granted(number) for number in range(size - Seal.objects.count())))
        log.seal()
        kept.append(signed())
    assert [one.size for one in kept] == sizes
    the_tree = tree.tree_of("main", 515)
    for before, after in ((0, 1), (1, 2), (2, 3)):
        old, new = opened(kept[before]), opened(kept[after])
        proof = merkle.tree_of(leaves()[: new.size]).consistency(old.size, new.size)
        assert merkle.proves_consistency(old.size, new.size, old.root, new.root, proof)
    assert the_tree.root(515) == opened(kept[-1]).root
    assert Tile.objects.filter(level=1).count() == 2


def test_a_tree_that_lags_behind_the_seals_catches_up_in_bounded_steps(tampering, monkeypatch):
    monkeypatch.setattr(tree, "GO", 1)
    write(*(granted(number) for number in range(600)))
    log.seal()
    with tampering():
        Tile.objects.all().delete()
    sealed(1)
    assert Tile.objects.count() == 1
    sealed(1)
    assert Tile.objects.count() == 2
    assert tree.tree_of("main", 602).root(602) == plain_root(leaves())


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_log_that_was_cut_is_not_signed(tampering, cut):
    sealed(5)
    first = signed()
    with tampering():
        restored(5 - cut)
        with pytest.raises(NotAnExtensionError):
            checkpoints.sign(now=later())
        sealed(6)
        with pytest.raises(NotAnExtensionError):
            checkpoints.sign(now=later())
    assert outside.remember("main").note == first.note


def test_an_older_record_that_was_rewritten_with_all_hashes_is_not_signed_over(tampering):
    records = sealed(4)
    signed()
    with tampering():
        Record.objects.filter(pk=records[1].pk).update(leaf_hash="0" * 64)
        with pytest.raises(NotAnExtensionError):
            checkpoints.sign(now=later())
        sealed(1)
        with pytest.raises(NotAnExtensionError):
            checkpoints.sign(now=later())


def test_a_new_record_whose_bytes_are_not_its_leaf_hash_is_not_signed(tampering):
    sealed(2)
    signed()
    records = sealed(2)
    with tampering():
        row = Record.objects.get(pk=records[1].pk)
        Record.objects.filter(pk=row.pk).update(body=row.body.replace("alice", "bobby"))
        with pytest.raises(RootsDifferError):
            checkpoints.sign(now=later())
    assert Checkpoint.objects.count() == 1


def test_a_crash_after_signing_is_taken_up_and_the_same_note_is_published(monkeypatch, settings):
    sealed(3)
    with monkeypatch.context() as patch:
        patch.setattr(outside, "publish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            signed()
    remembered = outside.remember("main").note
    assert remembered
    assert signed().note == remembered
    assert (settings.CHECKPOINT_DIR / "main/checkpoint").read_text() == remembered


def test_a_key_without_its_memory_signs_nothing(settings):
    sealed(1)
    signed()
    (settings.DATA_DIR / "checkpoints/main.memory.json").unlink()
    sealed(1)
    with pytest.raises(outside.MemoryLostError):
        signed()


def test_the_hook_gets_the_note_and_is_run_again_where_it_failed(settings, tmp_path, caplog):
    settings.CHECKPOINT_HOOK = f"{sys.executable} -c 'raise SystemExit(3)'"
    sealed(1)
    kept = signed()
    assert "hook failed" in caplog.text
    target = tmp_path / "elsewhere"
    script = f'import sys; open(r"{target}", "w").write(sys.stdin.read())'
    settings.CHECKPOINT_HOOK = f"{sys.executable} -c '{script}'"
    signed()
    assert target.read_text(encoding="utf-8") == kept.note
    target.unlink()
    signed()
    assert not target.exists()


def test_after_a_restored_backup_the_log_goes_on_in_a_new_epoch_that_embeds_the_last_checkpoint(tampering):
    sealed(6)
    lost = signed()
    with tampering():
        restored(4)
        with pytest.raises(CommandError, match="does not begin with"):
            call_command("checkpoint")
        call_command("checkpoint", "--new-epoch", "disk died", stdout=StringIO())
    kept = checkpoints.latest()
    assert kept is not None
    assert (kept.size, kept.origin) == (5, f"{lost.origin}/2")
    begun = json.loads(Record.objects.get(action="log_epoch_began").body)
    assert begun["data"] == {"epoch": 2, "checkpoint": lost.note, "reason": "disk died"}
    fault = verify(held=holding(lost)).fault
    assert fault is not None
    assert (fault.kind, fault.seq) == ("missing", 5)
    assert verify(held=holding(kept)).verdict == "verified"
    with pytest.raises(checkpoints.EpochNotNeededError):
        checkpoints.begin_epoch(reason="", by=OPERATOR, now=later())


def test_a_new_key_is_handed_over_in_a_checkpoint_that_both_have_signed(settings):
    sealed(2)
    first = signed()
    said = StringIO()
    call_command("checkpoint", "--rotate-key", stdout=said)
    new = said.getvalue().strip()
    both = checkpoints.latest()
    assert both is not None
    assert note.open_checkpoint(both.note, [note.read_verifier(first.key)]) == opened(both)
    assert note.open_checkpoint(both.note, [note.read_verifier(new)]).size == 3
    told = json.loads(Record.objects.get(action="log_key_rotated").body)["data"]
    assert told == {"before": first.key, "after": new}
    sealed(1)
    later_on = signed()
    assert later_on.key == new
    with pytest.raises(note.UnsignedError):
        note.open_checkpoint(later_on.note, [note.read_verifier(first.key)])
    assert not (settings.DATA_DIR / "keys/main.next.skey").exists()


def test_the_task_seals_and_signs_and_a_refusal_is_loud(tampering, caplog):
    write(revoked(1))
    tasks.checkpoint()
    assert Checkpoint.objects.get().size == 1
    with tampering():
        restored(0)
    checkpoints.sign_what_is_new(now=later(days=9))
    assert "no checkpoint was signed" in caplog.text


def test_a_burst_of_revocations_signs_once_in_two_seconds():
    sealed(1)
    checkpoints.sign_what_is_new(now=NOW)
    sealed(1)
    checkpoints.sign_what_is_new(now=later(seconds=1))
    assert Checkpoint.objects.count() == 1
    checkpoints.sign_what_is_new(now=later(seconds=3))
    assert Checkpoint.objects.count() == 2


def test_a_revocation_wakes_the_signer_and_a_grant_does_not(django_capture_on_commit_callbacks, monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr("audit.wake._start", lambda: None)
    monkeypatch.setattr("audit.wake._wanted", type("Wanted", (set,), {"add": lambda _, task: woken.append(task)})())
    with django_capture_on_commit_callbacks(execute=True):
        write(granted(1))
    assert woken == ["audit.seal"]
    with django_capture_on_commit_callbacks(execute=True):
        write(revoked(1), revoked(2))
    assert woken[-1] == "audit.checkpoint"
    assert woken.count("audit.checkpoint") == 1


def test_signing_reads_only_what_is_new(django_assert_max_num_queries):
    write(*(granted(number) for number in range(700)))
    log.seal()
    signed()
    sealed(1)
    with django_assert_max_num_queries(20):
        signed()
    assert connection.vendor in {"postgresql", "sqlite"}
