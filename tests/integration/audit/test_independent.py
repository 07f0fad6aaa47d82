"""Does a program that someone else wrote, from the specifications alone, come to the same roots and proofs?"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from audit import export
from audit.models import Record
from tests.entries import many, sealed
from tests.proofs import signed

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

PEER = "aics-tlog==0.2.1"  # RFC 9162 trees, C2SP checkpoints and signed notes; needs Python 3.12
PYTHONS = (sys.executable, "python3.14", "python3.13", "python3.12")
LOOK = """
import base64, json, sys
import aics_tlog as peer
tree, last, came = peer.MerkleTree(), 0, []
for line in sys.stdin:
    asked = json.loads(line)
    with open(asked["export"], "rb") as file:
        *leaves, foot, end = file.read().split(b"\\n")
    tree.extend(leaves[tree.size:])
    found = peer.verify_checkpoint(peer.parse_note(asked["checkpoint"]), peer.parse_vkey(asked["key"]))
    assert (end, found.ok, found.size, found.root) == (b"", True, tree.size, tree.root()), (found, tree.size)
    if last:
        proof = tree.consistency_proof(last)
        assert peer.verify_consistency(last, found.size, tree.root(last), found.root, proof)
    for receipt in asked["receipts"]:
        proof, _, checkpoint = receipt.partition("\\n\\n")
        head, *lines = [one for one in proof.split("\\n") if not one.startswith("extra ")]
        index, hashes = int(lines[0].split()[1]), [base64.b64decode(one) for one in lines[1:]]
        at = peer.verify_checkpoint(peer.parse_note(checkpoint), peer.parse_vkey(asked["key"]))
        assert at.ok and peer.verify_leaf_inclusion(leaves[index], index, at.size, hashes, at.root), receipt
        assert hashes == tree.inclusion_proof(index, at.size)
        assert not peer.verify_leaf_inclusion(leaves[index] + b" ", index, at.size, hashes, at.root)
    last = found.size
    came.append(found.size)
print(json.dumps(came))
"""


def runs(python: str) -> bool:
    """Say whether this is a Python that the peer runs on."""
    path = shutil.which(python)
    asked = "import sys; sys.exit(sys.version_info < (3, 12))"
    return path is not None and subprocess.run([path, "-c", asked], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a Python that has the other program, in an environment of its own."""
    python = next((name for name in PYTHONS if runs(name)), "")
    assert python, "this wants Python 3.12 or newer on the PATH, for a program that none of ours is made with"
    home = tmp_path_factory.mktemp("peer")
    subprocess.run([python, "-m", "venv", home], check=True)
    subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", PEER], check=True)
    return home / "bin" / "python"


def agrees(peer: Path, asked: list[dict[str, object]]) -> list[int]:
    """Return the sizes at which the peer came to the same roots, consistency and receipts."""
    lines = "".join(f"{json.dumps(one)}\n" for one in asked)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([peer, "-c", LOOK], input=lines, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sizes: list[int] = json.loads(done.stdout)
    return sizes


def given_out(folder: Path, uids: list[UUID]) -> dict[str, object]:
    """Sign the log as it is, and give out an export of all of it and the receipts of these records."""
    kept = signed()
    path = folder / f"{len(list(folder.iterdir()))}.ndjson"
    with path.open("wb") as out:
        out.writelines(export.lines("main", kept))
    receipts = [b"".join(export.receipt(uid).chunks).decode() for uid in uids]
    return {"export": str(path), "checkpoint": kept.note, "key": kept.key, "receipts": receipts}


def test_exports_of_1_to_33_records_and_their_receipts(peer, tmp_path):
    asked = []
    for _ in range(33):
        sealed(1)
        asked.append(given_out(tmp_path, [record.uid for record in Record.objects.all()]))
    assert agrees(peer, asked) == list(range(1, 34))


def test_an_export_of_seventy_thousand_records(peer, tmp_path):
    many(70_000)
    places = (0, 255, 256, 65_535, 65_536, 69_999)
    uids = list(Record.objects.filter(seal__seq__in=places).values_list("uid", flat=True))
    assert agrees(peer, [given_out(tmp_path, uids)]) == [70_000]


def test_it_disagrees_with_what_was_changed(peer, tmp_path):
    many(9)
    asked = given_out(tmp_path, [])
    path = Path(str(asked["export"]))
    path.write_bytes(path.read_bytes().replace(b"alice", b"alicf", 1))
    with pytest.raises(AssertionError, match=r"AssertionError: \(CheckpointVerifyResult\(ok=True"):
        agrees(peer, [asked])  # the signature holds, the root does not
