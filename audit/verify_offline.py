"""Is this receipt or export what the log's key has signed? Standard library only: copy this file out, run it anywhere.

    python3 -I -S verify_offline.py FILE… --key KEY [--checkpoint CHECKPOINT]…

FILE is a receipt (.tlog-proof, or a .zip of several) or an export (.ndjson). KEY is a file with the log's public keys,
one a line (`name+hash+base64`), that YOU hold: no key is ever read from what is checked. With --checkpoint, an export
must also lead to these checkpoints, which you kept from before. Exit status 0: all of it is proven; 1: something is
not; 2: cannot tell. What it does not say: that what agents did was declared.

Formats: C2SP signed-note, tlog-checkpoint, tlog-proof; tree: RFC 6962; signature: Ed25519 (RFC 8032).
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

# -- Ed25519 (RFC 8032, 5.1); verifying only, so nothing here is secret -----------------------------------------------
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]
Keys = dict[tuple[str, bytes], bytes]  # by name and id
Head = tuple[str, int, bytes]  # origin, size, root
HASH, SIGNATURE, KEY = 32, 64, 33  # bytes; a key's first says which kind it is
HEAD_LINES = 3


class NotProvenError(Exception):
    """What was given does not prove what it should."""


class CannotTellError(Exception):
    """What was given cannot be read, or there is no key for it."""


def _plus(a: Point, b: Point) -> Point:
    """Add two points in extended coordinates."""
    left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    t, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = right - left, z - t, z + t, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            total = _plus(total, point)
        point, number = _plus(point, point), number >> 1
    return total


def _same(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def _point(raw: bytes) -> Point | None:
    """Decode a point; None for what is none, or not written in its one form."""
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def ed25519_verifies(public: bytes, text: bytes, signature: bytes) -> bool:
    """Say whether the signature over the text is by this key."""
    key, commitment = _point(public), _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if len(public) != HASH or len(signature) != SIGNATURE or scalar >= L:
        return False
    if key is None or commitment is None or BASE is None:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % L
    return _same(_times(scalar, BASE), _plus(commitment, _times(challenge, key)))


# -- Notes and checkpoints --------------------------------------------------------------------------------------------


def _bytes_of(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CannotTellError("something that should be base64 is not") from error
    if base64.b64encode(raw).decode() != text:
        raise CannotTellError("something is not in the one form of its base64")
    return raw


def read_keys(text: str) -> Keys:
    """Return the public keys of a file by name and id."""
    keys = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition("+")
        id_, _, encoded = rest.partition("+")
        raw = _bytes_of(encoded)
        wanted = hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8]
        if len(raw) != KEY or raw[0] != 1 or id_ != wanted:
            raise CannotTellError("a line of the key file is no Ed25519 key of a note")
        keys[name, bytes.fromhex(id_)] = raw[1:]
    if not keys:
        raise CannotTellError("there is no key in the key file")
    return keys


def open_checkpoint(note: str, keys: Keys) -> Head:
    """Return origin, size and root of a checkpoint that one of the keys has signed."""
    text, blank, lines = note.rpartition("\n\n")
    if not blank or not lines.endswith("\n"):
        raise CannotTellError("the checkpoint is no signed note")
    text += "\n"
    signed = False
    for line in lines.splitlines():
        match = re.fullmatch(r"\u2014 (\S+) (\S+)", line)
        raw = _bytes_of(match[2]) if match else b""
        public = keys.get((match[1], raw[:4])) if match else None
        if public is not None and not ed25519_verifies(public, text.encode(), raw[4:]):
            raise NotProvenError("the signature of the checkpoint is false")
        signed = signed or public is not None
    if not signed:
        raise CannotTellError("no key that you hold has signed the checkpoint")
    parts = text.split("\n")
    if len(parts) <= HEAD_LINES or not re.fullmatch(r"0|[1-9][0-9]*", parts[1]) or len(_bytes_of(parts[2])) != HASH:
        raise CannotTellError("what was signed is no checkpoint")
    return parts[0], int(parts[1]), _bytes_of(parts[2])


# -- The tree of RFC 6962 ---------------------------------------------------------------------------------------------


def leaf_hash(body: bytes) -> bytes:
    """Return SHA-256(0x00 || body)."""
    return hashlib.sha256(b"\x00" + body).digest()


def parent(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_from(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to (RFC 9162, 2.1.3.2)."""
    if index >= size:
        raise NotProvenError("the receipt is about a place that the checkpoint does not cover")
    at, last = index, size - 1
    for sibling in proof:
        if len(sibling) != HASH or last == 0:
            raise NotProvenError("the proof has not the length it must have")
        if at & 1 or at == last:
            leaf = parent(sibling, leaf)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            leaf = parent(leaf, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise NotProvenError("the proof has not the length it must have")
    return leaf


class Tree:
    """A tree that grows leaf by leaf; it holds one hash for each full subtree."""

    def __init__(self) -> None:
        self.size = 0
        self.peaks: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        size = self.size
        while size & 1:
            leaf, size = parent(self.peaks.pop(), leaf), size >> 1
        self.peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root of all leaves so far."""
        if not self.peaks:
            return hashlib.sha256().digest()
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = parent(peak, root)
        return root


# -- Receipts and exports ---------------------------------------------------------------------------------------------


def check_receipt(text: str, keys: Keys) -> tuple[str, bytes]:
    """Return what a receipt proves, in words, and the record's bytes."""
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    if not blank or lines[0] != "c2sp.org/tlog-proof@v1":
        raise CannotTellError("this is no receipt")
    extra = [line[6:] for line in lines[1:2] if line.startswith("extra ")]
    rest = lines[1 + len(extra) :]
    if not extra or not rest or not re.fullmatch(r"index (0|[1-9][0-9]*)", rest[0]):
        raise CannotTellError("the receipt holds no record, or does not say its place")
    body, index = _bytes_of(extra[0]), int(rest[0][6:])
    origin, size, root = open_checkpoint(note, keys)
    if root_from(leaf_hash(body), index, size, [_bytes_of(line) for line in rest[1:]]) != root:
        raise NotProvenError("the record does not stand where the receipt says: it was changed, or is of another log")
    return f"proven: the record stands at place {index} of the {size} records of {origin}", body


def check_export(file: Iterable[bytes], keys: Keys, held: list[Head]) -> str:
    """Return what an export proves, in words; it is read line by line."""
    tree, shown, line = Tree(), 0, b""
    roots: dict[int, bytes] = {}
    sizes = {head[1] for head in held}
    for following in file:
        if line:
            shown += _add(tree, line)
            if tree.size in sizes:
                roots[tree.size] = tree.root()
        line = following
    origin, size, root = _end(line, keys)
    if tree.size != size:
        raise NotProvenError(f"the checkpoint covers {size} records, and there are {tree.size} lines")
    if tree.root() != root:
        raise NotProvenError("the lines do not lead to the checkpoint: at least one was changed, put in or moved")
    _check_held(held, size, roots)
    return f"proven: {shown} records, and {size - shown} lines given by their hash, are the {size} records of {origin}"


def _check_held(held: list[Head], size: int, roots: dict[int, bytes]) -> None:
    for _, covers, wanted in held:
        if covers > size:
            raise NotProvenError(f"a checkpoint that you hold covers {covers} records; here are {size}")
        if roots.get(covers) != wanted:
            raise NotProvenError(f"the first {covers} lines do not lead to the checkpoint that you hold")


def _end(line: bytes, keys: Keys) -> Head:
    try:
        note = json.loads(line)["checkpoint"]
    except (ValueError, KeyError, TypeError) as error:
        raise CannotTellError("the last line holds no checkpoint: this is no export, or its end was cut") from error
    return open_checkpoint(note, keys)


def _add(tree: Tree, line: bytes) -> bool:
    """Add a line; say whether it is a record."""
    text = line.removesuffix(b"\n")
    match = re.fullmatch(rb'"([0-9a-f]{64})"', text)
    tree.add(bytes.fromhex(match[1].decode()) if match else leaf_hash(text))
    return match is None


def check(path: Path, keys: Keys, held: list[Head]) -> list[str]:
    """Return what a file proves, in words."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read(name).decode() for name in archive.namelist()]
        return _parts([check_receipt(text, keys) for text in texts])
    with path.open("rb") as file:
        if file.read(8) == b"c2sp.org":
            return [check_receipt(path.read_text(encoding="utf-8"), keys)[0]]
        file.seek(0)
        return [check_export(file, keys, held)]


def _parts(found: list[tuple[str, bytes]]) -> list[str]:
    """Say of the parts of one record whether all are there."""
    parts = [json.loads(body)["part"] for _, body in found]
    numbers = [part["number"] for part in parts if part]
    if len({part["first"] for part in parts if part}) != 1 or numbers != list(range(1, len(found) + 1)):
        raise NotProvenError("these are not the parts of one record, in their order")
    if parts[0]["of"] != len(found):
        raise NotProvenError(f"the record has {parts[0]['of']} parts, and here are {len(found)}")
    return [words for words, _ in found]


def main(arguments: list[str] | None = None) -> int:
    """Check each file; print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--key", required=True, type=Path, help="file with the public keys that you hold")
    parser.add_argument("--checkpoint", action="append", default=[], type=Path, help="file of a checkpoint you kept")
    wanted = parser.parse_args(arguments)
    worst = 0
    for path in wanted.files:
        try:
            keys = read_keys(wanted.key.read_text(encoding="utf-8"))
            held = [open_checkpoint(file.read_text(encoding="utf-8"), keys) for file in wanted.checkpoint]
            said = check(path, keys, held)
        except NotProvenError as error:
            worst, said = 1, [f"NOT PROVEN: {error}"]
        except (CannotTellError, OSError, UnicodeDecodeError, zipfile.BadZipFile, ValueError, KeyError) as error:
            worst, said = worst or 2, [f"CANNOT TELL: {error}"]
        for words in said:
            sys.stdout.write(f"{path.name}: {words}\n")
    return worst


if __name__ == "__main__":
    sys.exit(main())
