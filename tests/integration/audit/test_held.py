"""The attack battery: against one checkpoint that an auditor holds, is every change by the database's owner named?"""

import json
import shutil
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from audit import chain, checkpoints, log, tree
from audit.held import UnusableCheckpointError, hold
from audit.models import Checkpoint, Record, Seal, Subject, Tile, Unsealed
from audit.verify import verify
from tests.entries import granted, revoked, sealed, write
from tests.factories import later
from tests.proofs import holding, signed

pytestmark = [pytest.mark.both, pytest.mark.django_db]
SIZE = 6


@pytest.fixture
def attacked(tampering):
    """Six records, a checkpoint of them that an auditor holds, two records more, and no trigger in the way."""
    records = sealed(SIZE)
    kept = signed()
    records += sealed(2)
    with tampering():
        yield records, holding(kept)


def broken(held, kind, seq):
    verdict = verify(held=held)
    assert verdict.verdict == "broken"
    assert verdict.fault is not None
    assert (verdict.fault.kind, verdict.fault.seq) == (kind, seq), verdict.fault


def reseal():
    """Rewrite every hash with the application's own code: chain, tree, and what is kept of checkpoints."""
    order = list(Seal.objects.order_by("seq").values_list("record_id", flat=True))
    Seal.objects.all().delete()
    Tile.objects.all().delete()
    Checkpoint.objects.all().delete()
    for record in Record.objects.all():
        leaf = chain.leaf_hash(record.body.encode()).hex()
        body = json.loads(record.body)
        lookups = chain.lookups_of(body)
        Record.objects.filter(pk=record.pk).update(leaf_hash=leaf, actor=lookups["actor"], owner=lookups["owner"])
        Subject.objects.filter(record=record).delete()
        pairs = chain.subjects_of(body)
        Subject.objects.bulk_create(Subject(record=record, object_type=type_, object_id=id_) for type_, id_ in pairs)
    Unsealed.objects.all().delete()
    for record_id in order:
        Unsealed.objects.create(record_id=record_id)
        log.seal()


def remove(*seqs):
    """Take records away as if they had never been, the numbers closed up; what is left is sealed anew."""
    gone = list(Seal.objects.filter(seq__in=seqs).values_list("record_id", flat=True))
    Seal.objects.filter(record_id__in=gone).delete()
    Subject.objects.filter(record_id__in=gone).delete()
    Record.objects.filter(pk__in=gone).delete()


def alter(record, before, after):
    row = Record.objects.get(pk=record.pk)
    assert before in row.body
    Record.objects.filter(pk=record.pk).update(body=row.body.replace(before, after))


def test_untouched_it_is_verified_and_what_is_newer_is_counted(attacked):
    _, held = attacked
    verdict = verify(held=held)
    assert (verdict.verdict, verdict.covered, verdict.size, verdict.unprotected) == ("verified", SIZE, SIZE + 2, 2)
    write(granted(1))
    assert verify(held=held).unprotected == 3


def test_a_nested_member_that_was_edited(attacked):
    records, held = attacked
    alter(records[2], '"id":"2000","outcome":"revoked"', '"id":"2000","outcome":"refused"')
    broken(held, "changed", 2)
    reseal()
    assert verify().verdict == "consistent"
    broken(held, "not an extension", 0)


def test_a_record_that_was_backdated(attacked):
    records, held = attacked
    alter(records[4], "2026-11-30T12", "2026-11-29T12")
    Record.objects.filter(pk=records[4].pk).update(occurred_at=later(days=-1))
    broken(held, "changed", 4)
    reseal()
    broken(held, "not an extension", 0)


def test_a_lookup_column_and_a_subject(attacked):
    records, held = attacked
    Subject.objects.filter(record=records[5], object_id="5001").delete()
    broken(held, "lookup altered", 5)
    Record.objects.filter(pk=records[1].pk).update(outcome="refused")
    broken(held, "lookup altered", 1)


def test_a_record_deleted_in_the_middle(attacked):
    _, held = attacked
    remove(3)
    broken(held, "missing", 3)
    reseal()
    assert verify().verdict == "consistent"
    broken(held, "not an extension", 0)


@pytest.mark.parametrize("left", [5, 3, 0])
def test_a4_a_cut_tail_or_everything_cut(attacked, left):
    _, held = attacked
    remove(*range(left, SIZE + 2))
    Tile.objects.all().delete()
    Checkpoint.objects.all().delete()
    assert verify().verdict == ("consistent" if left else "cannot tell")
    broken(held, "missing", left)


def test_a_cut_of_what_is_newer_than_the_checkpoint_is_said_to_be_undetectable(attacked, tmp_path):
    _, held = attacked
    remove(6, 7)
    verdict = verify(held=held)
    assert (verdict.verdict, verdict.unprotected) == ("verified", 0)
    code, said = run(tmp_path, held, checkpoints.latest())
    assert code == 0
    assert "0 sealed after that checkpoint are protected by nothing: nobody can tell whether there were more." in said


def test_a_record_put_in_at_the_front_and_everything_sealed_again(attacked):
    _, held = attacked
    [record] = write(granted(99))
    log.seal()
    order = [record.pk, *Seal.objects.exclude(record=record).order_by("seq").values_list("record_id", flat=True)]
    Seal.objects.all().delete()
    for pk in order:
        Unsealed.objects.create(record_id=pk)
        log.seal()
    assert verify().verdict == "broken"  # by the checkpoint that is kept here
    broken(held, "not an extension", 0)


def test_a_duplicate(attacked):
    records, held = attacked
    row = Record.objects.get(pk=records[1].pk)
    alter(records[2], Record.objects.get(pk=records[2].pk).body, row.body)
    reseal()
    verdict = verify(held=held)
    assert verdict.verdict == "broken"


def test_records_that_changed_places_and_were_sealed_again(attacked):
    _, held = attacked
    one, two = Seal.objects.get(seq=1), Seal.objects.get(seq=2)
    Seal.objects.all().filter(seq__in=(1, 2)).delete()
    Seal.objects.create(log="main", seq=1, record_id=two.record_id, chain=one.chain)
    Seal.objects.create(log="main", seq=2, record_id=one.record_id, chain=two.chain)
    broken(held, "reordered", 1)
    reseal()
    assert verify().verdict == "consistent"
    broken(held, "not an extension", 0)


def test_a_second_checkpoint_held_says_where_it_begins(attacked):
    records, held = attacked
    newer = signed()
    alter(records[7], "alice", "bobby")
    reseal()
    both = hold([checkpoint.note for checkpoint in (newer,)] + [held_note(held)], newer.key)
    broken(both, "not an extension", SIZE)


def held_note(held):
    return next(
        file.read_text()
        for file in settings.CHECKPOINT_DIR.rglob("*.checkpoint")
        if file.name.startswith(f"{held.size:012}")
    )


def test_an_older_backup_put_back(attacked):
    _, held = attacked
    newer = signed()
    remove(6, 7)
    Checkpoint.objects.filter(size=8).delete()
    assert verify(held=held).verdict == "verified"
    broken(holding(newer), "missing", SIZE)


def test_a_checkpoint_kept_here_that_was_forged(attacked):
    _, held = attacked
    row = Checkpoint.objects.get()
    Checkpoint.objects.update(root="0" * 64)
    broken(held, "forged head", SIZE - 1)
    other = row.note.replace("\n6\n", "\n5\n")
    Checkpoint.objects.update(root=row.root, note=other, size=5)
    broken(held, "forged head", 4)
    Checkpoint.objects.update(note="nonsense")
    broken(held, "forged head", 4)


def test_a_stored_hash_of_the_tree_that_was_altered(tampering):
    write(*(granted(number) for number in range(515)))
    log.seal()
    kept = signed()
    with tampering():
        Tile.objects.filter(number=1).update(root="0" * 64)
        broken(holding(kept), "forged head", 256)
        Tile.objects.filter(number=1).delete()
        broken(holding(kept), "forged head", 256)


def test_incrementally_only_what_is_new_is_read(tampering):
    write(*(granted(number) for number in range(300)))
    log.seal()
    held = holding(signed())
    sealed(5)
    verdict = verify(held=held, incremental=True)
    assert (verdict.verdict, verdict.since, verdict.checked, verdict.unprotected) == ("verified", 300, 305, 5)
    assert verdict.root == tree.tree_of("main", 305).root(305).hex()
    whole = verify(held=held)
    assert (whole.root, whole.head) == (verdict.root, verdict.head)
    with tampering():
        Record.objects.filter(seal__seq=302).update(actor="user:eve")
        fault = verify(held=held, incremental=True).fault
        assert fault is not None
        assert (fault.kind, fault.seq) == ("lookup altered", 302)
        Seal.objects.filter(seq__gte=290).delete()
        cut = verify(held=held, incremental=True)
        assert cut.fault is not None
        assert (cut.verdict, cut.fault.kind, cut.fault.seq) == ("broken", "missing", 290)


def test_incrementally_a_log_that_was_rewritten_does_not_lead_to_the_checkpoint(attacked):
    records, held = attacked
    alter(records[1], "alice", "bobby")
    reseal()
    fault = verify(held=held, incremental=True).fault
    assert fault is not None
    assert fault.kind == "not an extension"


def test_what_proves_nothing_is_refused():
    sealed(2)
    kept = signed()
    for notes, key in (([], kept.key), ([kept.note], ""), (["nonsense"], kept.key), ([kept.note + "x"], kept.key)):
        with pytest.raises(UnusableCheckpointError):
            hold(notes, key)


# -- The command ------------------------------------------------------------------------------------------------------


def run(folder, held, kept, *more):
    (folder / "held").write_text(kept.note, encoding="utf-8")
    (folder / "key").write_text(f"# the log's key\n{held.keys[0]}\n", encoding="utf-8")
    said = StringIO()
    arguments = ("--checkpoint", str(folder / "held"), "--key", str(folder / "key"), *more)
    with pytest.raises(SystemExit) as left:
        call_command("verify_audit", *arguments, stdout=said)
    return left.value.code, said.getvalue()


def test_the_command_verifies_against_files_that_are_held(tmp_path, tampering):
    sealed(3)
    kept = signed()
    held = holding(kept)
    code, said = run(tmp_path, held, kept)
    assert (code, said.startswith("Verified: the first 3 records")) == (0, True)
    code, said = run(tmp_path, held, kept, "--incremental", "--json")
    facts = json.loads(said)
    assert (code, facts["verdict"], facts["since"], facts["covered"], facts["unprotected"]) == (0, "verified", 3, 3, 0)
    with tampering():
        remove(2)
        code, said = run(tmp_path, held, kept)
    assert code == 1
    assert "Broken: missing, first at record 2" in said


def test_the_command_cannot_tell_without_a_key_or_with_a_checkpoint_of_another(tmp_path):
    sealed(1)
    kept = signed()
    (tmp_path / "held").write_text(kept.note, encoding="utf-8")
    for arguments in (("--checkpoint", tmp_path / "held"), ("--key", tmp_path / "none"), ("--incremental",)):
        with pytest.raises(CommandError) as refused:
            call_command("verify_audit", *map(str, arguments))
        assert refused.value.returncode == 2
    shutil.copy(settings.CHECKPOINT_DIR / "main/keys", tmp_path / "key")
    text = (tmp_path / "held").read_text(encoding="utf-8").replace("\n1\n", "\n2\n")
    (tmp_path / "held").write_text(text, encoding="utf-8")
    with pytest.raises(CommandError, match="Cannot tell: the signature of "):
        call_command("verify_audit", "--checkpoint", str(tmp_path / "held"), "--key", str(tmp_path / "key"))


def test_parts_and_unicode_and_awkward_texts_agree(tampering):
    awkward = 'a"b\\c\u2028\x7f\x1f],[","é\U0001f600'
    write(
        revoked(1, tasks=3_000, title="x" * 20),
        revoked(2, title=awkward, group="g\"],['"),
        revoked(3, subjects=[("task", 'x],["y'), ("task", '1","2'), ("project", "3"), ("user", "1")]),
        granted(4, target=("user", 'é"]')),
    )
    log.seal()
    assert verify().verdict == "consistent"
    assert connection.vendor
    with tampering():
        target = Subject.objects.filter(object_id='1","2').get()
        Subject.objects.filter(pk=target.pk).update(object_id="1")
        fault = verify().fault
        assert fault is not None
        assert fault.kind == "lookup altered"
