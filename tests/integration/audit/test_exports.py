"""Can an auditor check at home what was given out, and does nobody else's program disagree?"""

import csv
import io
import json
import sys
import zipfile
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from audit import checkpoints, export, log, note, receipts, tree
from audit.events import Party
from audit.models import Record, Seal
from tests.entries import ADMIN, granted, many, revoked, sealed, write
from tests.factories import NOW
from tests.proofs import at_home, plain_root, signed

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def taken(file, folder):
    path = folder / file.name
    path.write_bytes(b"".join(file.chunks))
    return path


def leaves_of(text):
    """The leaves of an export, by what its format says and nothing that made it."""
    from hashlib import sha256  # noqa: PLC0415  (an outsider's view, complete in itself)

    lines = text.split(b"\n")[:-2]
    return [
        bytes.fromhex(line[1:-1].decode()) if line.startswith(b'"') else sha256(b"\0" + line).digest() for line in lines
    ]


def test_a5_exports_of_1_to_33_records_lead_an_outsider_to_the_same_root(tmp_path):
    for size in range(1, 34):
        sealed(1)
        kept = signed()
        text = b"".join(export.lines("main", kept))
        leaves = leaves_of(text)
        assert len(leaves) == size
        head = note.open_checkpoint(json.loads(text.split(b"\n")[-2])["checkpoint"], note.read_verifiers(kept.key))
        assert (head.size, head.root) == (size, plain_root(leaves))
        if size in {1, 2, 7, 16, 33}:
            path = tmp_path / f"{size}.ndjson"
            path.write_bytes(text)
            code, said = at_home(tmp_path, kept.key, path, checkpoints=[kept.note])
            assert (code, f"proven: {size} records, and 0 lines" in said) == (0, True), said


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_an_export_of_seventy_thousand_records_leads_an_outsider_to_the_same_root(tmp_path):
    many(70_000)
    kept = signed()
    path = tmp_path / "all.ndjson"
    with path.open("wb") as out:
        out.writelines(export.lines("main", kept))
    code, said = at_home(tmp_path, kept.key, path)
    assert (code, "proven: 70000 records" in said) == (0, True), said
    head = note.open_checkpoint(kept.note, note.read_verifiers(kept.key))
    sys.setrecursionlimit(10_000)
    assert head.root == plain_root(leaves_of(path.read_bytes()))
    uid = Record.objects.get(seal__seq=65_536).uid
    assert at_home(tmp_path, kept.key, taken(export.receipt(uid), tmp_path))[0] == 0


def test_what_speaks_of_one_object_comes_with_hashes_in_place_of_the_rest(tmp_path):
    write(*(revoked(number) for number in range(1, 8)), revoked(9, tasks=3_000, title="x" * 20))
    log.seal()
    kept = signed()
    text = b"".join(export.lines("main", kept, ("task", "3001")))
    shown = [json.loads(line) for line in text.split(b"\n")[:-2] if not line.startswith(b'"')]
    assert [body["target"]["id"] for body in shown] == ["3"]
    path = tmp_path / "object.ndjson"
    path.write_bytes(text)
    code, said = at_home(tmp_path, kept.key, path)
    assert (code, f"proven: 1 records, and {kept.size - 1} lines given by their hash" in said) == (0, True)
    parts = [
        json.loads(line)["part"]
        for line in b"".join(export.lines("main", kept, ("task", "92999"))).split(b"\n")[:-2]
        if not line.startswith(b'"')
    ]
    assert len(parts) == parts[0]["of"] > 1  # one part speaks of the task; all of the record are given


@pytest.mark.parametrize(
    ("harm", "code", "words"),
    [
        (lambda lines: [lines[0].replace(b"alice", b"bobby"), *lines[1:]], 1, "NOT PROVEN: the lines do not lead"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], 1, "NOT PROVEN: the lines do not lead"),
        (lambda lines: lines[1:], 1, "NOT PROVEN: the checkpoint covers 4 records, and there are 3 lines"),
        (lambda lines: [lines[0], *lines], 1, "NOT PROVEN: the checkpoint covers 4"),
        (lambda lines: lines[:-1], 2, "CANNOT TELL: the last line holds no checkpoint"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"\\n4\\n", b"\\n5\\n")], 1, "NOT PROVEN: the signature"),
        (lambda lines: [], 2, "CANNOT TELL"),
    ],
)
def test_an_export_that_was_altered_is_not_proven_at_home(tmp_path, harm, code, words):
    sealed(4)
    kept = signed()
    lines = b"".join(export.lines("main", kept)).splitlines(keepends=True)
    path = tmp_path / "altered.ndjson"
    path.write_bytes(b"".join(harm(lines)))
    found, said = at_home(tmp_path, kept.key, path)
    assert (found, words in said) == (code, True), said


def test_an_export_must_lead_to_the_checkpoints_that_are_held_too(tmp_path):
    sealed(2)
    early = signed()
    sealed(3)
    kept = signed()
    path = tmp_path / "all.ndjson"
    path.write_bytes(b"".join(export.lines("main", kept)))
    assert at_home(tmp_path, kept.key, path, checkpoints=[early.note, kept.note])[0] == 0
    short = tmp_path / "short.ndjson"
    short.write_bytes(b"".join(export.lines("main", early)))
    code, said = at_home(tmp_path, kept.key, short, checkpoints=[kept.note])
    assert (code, "a checkpoint that you hold covers 5 records; here are 2" in said) == (1, True)


# -- Receipts ---------------------------------------------------------------------------------------------------------


def test_receipts_of_every_place_are_proven_at_home(tmp_path):
    records = sealed(7)
    kept = signed()
    files = [taken(export.receipt(record.uid), tmp_path) for record in records]
    code, said = at_home(tmp_path, kept.key, *files)
    assert code == 0
    assert all(f"the record stands at place {place} of the 7 records of {kept.origin}" in said for place in range(7))


def test_what_ends_the_tree_is_read_once_for_a_root_that_it_leads_to(django_assert_num_queries):
    sealed(600)
    kept = signed()
    uids = list(Record.objects.filter(seal__seq__in=[3, 300, 599]).values_list("uid", flat=True))
    first = [b"".join(export.receipt(uid).chunks) for uid in uids]
    with django_assert_num_queries(3 * len(uids)):  # the record, the checkpoint, its own tiles
        assert [b"".join(export.receipt(uid).chunks) for uid in uids] == first
    elsewhere = tree.tree_for([300], "main", 600, "00" * 32)
    assert elsewhere.inclusion(300, 600) == tree.tree_for([300], "main", 600, kept.root).inclusion(300, 600)


def test_a_receipt_that_was_altered_is_not_proven(tmp_path):
    [record] = sealed(1)
    sealed(4)
    kept = signed()
    text = b"".join(export.receipt(record.uid).chunks).decode()
    proof = note.read_proof(text)
    other = note.make_signer("takeback.invalid/x/main")
    for altered, answer in (
        (str(note.Proof(0, proof.hashes, proof.checkpoint, proof.extra.replace(b"alice", b"bobby"))), "not proven"),
        (str(note.Proof(1, proof.hashes, proof.checkpoint, proof.extra)), "not proven"),
        (str(note.Proof(9, proof.hashes, proof.checkpoint, proof.extra)), "not proven"),
        (str(note.Proof(0, proof.hashes[:-1], proof.checkpoint, proof.extra)), "not proven"),
        (text.replace("\n5\n", "\n6\n"), "not proven"),
        (str(note.Proof(0, proof.hashes, note.sign("x\n5\n", other), proof.extra)), "cannot tell"),
        ("nonsense", "cannot tell"),
        ("x" * 300_000, "cannot tell"),
    ):
        assert receipts.check(altered, kept.key).answer == answer
    good = receipts.check(text.replace("\n", "\r\n"), kept.key)
    assert (good.answer, good.sentence) == ("proven", "alice had project 0 revoked: 2 revoked.")
    assert receipts.check(text, str(other.verifier)).answer == "cannot tell"
    assert receipts.check(text, "").answer == "cannot tell"


def test_a_record_that_was_cut_has_a_receipt_for_each_part(tmp_path):
    [record] = write(revoked(1, tasks=3_000, title="x" * 20))
    log.seal()
    kept = signed()
    path = taken(export.receipt(record.uid), tmp_path)
    assert path.suffix == ".zip"
    assert len(zipfile.ZipFile(path).namelist()) == Record.objects.count()
    assert at_home(tmp_path, kept.key, path)[0] == 0
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "less.zip", "w") as less:
        for name in whole.namelist()[:-1]:
            less.writestr(name, whole.read(name))
    code, said = at_home(tmp_path, kept.key, tmp_path / "less.zip")
    assert (code, "NOT PROVEN: the record has" in said) == (1, True)


def test_there_is_no_receipt_before_a_checkpoint_covers_the_record():
    [record] = write(granted())
    with pytest.raises(export.NotCoveredError):
        export.receipt(record.uid)
    log.seal()
    signed()
    assert export.receipt(record.uid)
    [newer] = sealed(1)
    with pytest.raises(export.NotCoveredError):
        export.receipt(newer.uid)


# -- Tables, and the command ------------------------------------------------------------------------------------------


def test_a6_a_table_says_that_it_is_whole_and_holds_no_formula():
    write(
        granted(1, target=("user", "=1+1")),
        granted(2, target=("user", " @SUM(A1)")),
        granted(3, actor=Party("user", "9", "-2")),
        granted(4, outcome="\uff1d1"),
    )
    log.seal()
    kept = signed()
    rows = list(csv.reader(io.StringIO(b"".join(export.table("main", kept)).decode())))
    assert rows[0] == [export.PLAIN]
    assert rows[-1] == ["Whole: 4 of the 4 records that the checkpoint covers"]
    cells = [cell for row in rows for cell in row]
    assert "'=1+1" in cells
    assert "' @SUM(A1)" in cells
    assert "'\uff1d1" in cells
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d")) for cell in cells)


def test_a6_more_records_than_are_read_at_once_are_all_there(monkeypatch):
    monkeypatch.setattr(export, "ROWS", 7)
    write(*(granted(number) for number in range(50)))
    log.seal()
    kept = signed()
    assert len(b"".join(export.lines("main", kept)).splitlines()) == 51
    rows = list(csv.reader(io.StringIO(b"".join(export.table("main", kept)).decode())))
    assert [row[0] for row in rows[3:-1]] == [str(number) for number in range(50)]
    only = list(csv.reader(io.StringIO(b"".join(export.table("main", kept, ("user", "33"))).decode())))
    assert only[-1] == ["Whole: 1 of the 50 records that the checkpoint covers"]


def test_an_export_records_itself():
    sealed(2)
    signed()
    export.export_for(by=ADMIN, now=NOW, about=("task", "1000"))
    row = Record.objects.get(action="log_exported")
    assert json.loads(row.body)["data"] == {"form": "ndjson", "object": "task 1000", "size": 2}
    assert row.actor == "user:admin"


def test_the_command_signs_first_and_writes_a_file_that_is_proven_at_home(tmp_path):
    write(*(granted(number) for number in range(3)))
    path = tmp_path / "out.ndjson"
    call_command("export_audit", "--out", str(path))
    kept = checkpoints.latest()
    assert kept is not None
    assert at_home(tmp_path, kept.key, path)[0] == 0
    assert Seal.objects.count() == 4
    table = tmp_path / "out.csv"
    call_command("export_audit", "--csv", "--object", "user", "1", "--out", str(table))
    assert "Whole: 1 of the 4" in table.read_text(encoding="utf-8")


def test_an_empty_log_cannot_be_exported(tmp_path):
    with pytest.raises(CommandError, match="No checkpoint"):
        call_command("export_audit", "--out", str(tmp_path / "x"), stdout=StringIO())
