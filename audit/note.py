"""How is a head of the log signed, and a receipt written? In the formats of C2SP; pure.

signed-note, tlog-checkpoint and tlog-proof, with Ed25519 keys. A key has a name;
`vkey` is its public half as one line (`name+hash+base64`), `skey` its private one, as in Go's note.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

ED25519 = b"\x01"  # the signature type of both the key and its id
PROOF = "c2sp.org/tlog-proof@v1"
SKEY = "PRIVATE+KEY+"
MOST_SIGNATURES = 100
LONGEST = 1_000_000  # characters of a note; more is refused unread
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")


class BadNoteError(Exception):
    """A note, key, checkpoint or proof cannot be read."""


class UnsignedError(Exception):
    """No key that was given has signed the note, or a signature that names one of them is false."""


@dataclass(frozen=True)
class Verifier:
    """The public half of a key."""

    name: str
    public: bytes

    @property
    def id(self) -> bytes:
        """Return the four bytes that name the key in a signature."""
        return sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        """Return the vkey."""
        return f"{self.name}+{self.id.hex()}+{_encoded(ED25519 + self.public)}"

    def verifies(self, text: bytes, signature: bytes) -> bool:
        """Say whether this key has signed the text."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class Signer:
    """A whole key; never shown, save by `skey` for the file it is kept in."""

    name: str
    key: Ed25519PrivateKey

    @property
    def verifier(self) -> Verifier:
        """Return the public half."""
        return Verifier(self.name, self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @property
    def skey(self) -> str:
        """Return the private half as one line."""
        seed = self.key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return f"{SKEY}{self.name}+{self.verifier.id.hex()}+{_encoded(ED25519 + seed)}"

    def __repr__(self) -> str:
        return f"Signer({self.verifier})"


def make_signer(name: str) -> Signer:
    """Return a new key of this name; raises BadNoteError where no key may be called so."""
    _check_name(name)
    return Signer(name, Ed25519PrivateKey.generate())


def read_signer(skey: str) -> Signer:
    """Return the key of an skey; raises BadNoteError."""
    name, hash_, raw = _key_parts(skey.strip().removeprefix(SKEY))
    signer = Signer(name, Ed25519PrivateKey.from_private_bytes(raw))
    if not skey.startswith(SKEY) or signer.verifier.id != hash_:
        raise BadNoteError("this is no private key of a note")
    return signer


def read_verifier(vkey: str) -> Verifier:
    """Return the key of a vkey; raises BadNoteError."""
    name, hash_, raw = _key_parts(vkey.strip())
    verifier = Verifier(name, raw)
    if verifier.id != hash_:
        raise BadNoteError("the key's hash is not that of its name and bytes")
    return verifier


def read_verifiers(text: str) -> list[Verifier]:
    """Return the keys of a file with one vkey a line; raises BadNoteError where there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise BadNoteError("there is no key in it")
    return [read_verifier(line) for line in lines]


def _key_parts(text: str) -> tuple[str, bytes, bytes]:
    parts = text.split("+", 2)
    if len(parts) != 3:  # noqa: PLR2004  (name, hash, key)
        raise BadNoteError("a key is written as name+hash+base64")
    _check_name(parts[0])
    raw = _decoded(parts[2])
    if not re.fullmatch("[0-9a-f]{8}", parts[1]) or len(raw) != 33 or raw[:1] != ED25519:  # noqa: PLR2004  (type and key)
        raise BadNoteError("this is no Ed25519 key of a note")
    return parts[0], bytes.fromhex(parts[1]), raw[1:]


def _check_name(name: str) -> None:
    if not name or "+" in name or any(character.isspace() for character in name):
        raise BadNoteError("a key's name is one word without plus signs")


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise BadNoteError("this is not base64") from error
    if _encoded(raw) != text:
        raise BadNoteError("this is not the one base64 of its bytes")
    return raw


# -- Signed notes -----------------------------------------------------------------------------------------------------


def sign(text: str, *signers: Signer) -> str:
    """Return the note: the text, which ends with a newline, and one signature by each key."""
    if not text.endswith("\n") or _CONTROL.search(text):
        raise BadNoteError("a note is lines of text")
    lines = (f"— {by.name} {_encoded(by.verifier.id + by.key.sign(text.encode()))}\n" for by in signers)
    return f"{text}\n{''.join(lines)}"


def split(note: str) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """Return a note's text and its signatures (name, key id, bytes), none of them checked; raises BadNoteError."""
    if len(note) > LONGEST or _CONTROL.search(note):
        raise BadNoteError("a note is lines of text, and not endless")
    text, blank, lines = note.rpartition("\n\n")
    if not blank or not lines.endswith("\n"):
        raise BadNoteError("a note has a text, an empty line, and signatures")
    signatures = [_signature(line) for line in lines[:-1].split("\n")]
    if len(signatures) > MOST_SIGNATURES:
        raise BadNoteError("a note has not so many signatures")
    return f"{text}\n", signatures


def _signature(line: str) -> tuple[str, bytes, bytes]:
    match = re.fullmatch(r"— (\S+) (\S+)", line)
    raw = _decoded(match[2]) if match else b""
    if match is None or len(raw) <= 4:  # noqa: PLR2004  (the key's id)
        raise BadNoteError("a line after the empty one is no signature")
    _check_name(match[1])
    return match[1], raw[:4], raw[4:]


def open_note(note: str, verifiers: Sequence[Verifier]) -> tuple[str, list[Verifier]]:
    """Return a note's text and which of these keys have signed it; raises BadNoteError, UnsignedError.

    Signatures by other keys are ignored; a false one in the name of a known key spoils the whole note.
    """
    text, signatures = split(note)
    known = {(verifier.name, verifier.id): verifier for verifier in verifiers}
    signed: list[Verifier] = []
    for name, id_, signature in signatures:
        verifier = known.get((name, id_))
        if verifier is None:
            continue
        if not verifier.verifies(text.encode(), signature):
            raise UnsignedError(f"the signature of {name} is false")
        signed.append(verifier)
    if not signed:
        raise UnsignedError("none of the keys given has signed it")
    return text, signed


# -- Checkpoints ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """What a checkpoint says: how many leaves the log of this origin has, and the root above them."""

    origin: str
    size: int
    root: bytes

    def __str__(self) -> str:
        """Return the text that is signed."""
        return f"{self.origin}\n{self.size}\n{_encoded(self.root)}\n"


def read_head(text: str) -> Head:
    """Return what the text of a checkpoint says; extension lines are not ours. Raises BadNoteError."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not all(lines[:-1]) or not _NUMBER.fullmatch(lines[1]):  # noqa: PLR2004  (three)
        raise BadNoteError("a checkpoint is three lines: origin, size, root")
    root = _decoded(lines[2])
    if len(root) != 32:  # noqa: PLR2004  (SHA-256)
        raise BadNoteError("a root has 32 bytes")
    return Head(lines[0], int(lines[1]), root)


def open_checkpoint(note: str, verifiers: Sequence[Verifier]) -> Head:
    """Return what a checkpoint says, if one of these keys has signed it; raises BadNoteError, UnsignedError."""
    text, _ = open_note(note, verifiers)
    return read_head(text)


# -- Receipts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proof:
    """A receipt: `extra` holds the record's bytes, which nothing but their hash at this place makes trustworthy."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: str
    extra: bytes = b""

    def __str__(self) -> str:
        """Return the receipt as a tlog-proof."""
        extra = [f"extra {_encoded(self.extra)}"] if self.extra else []
        lines = [PROOF, *extra, f"index {self.index}", *map(_encoded, self.hashes), ""]
        return "\n".join(lines) + f"\n{self.checkpoint}"


def read_proof(text: str) -> Proof:
    """Return a tlog-proof, nothing of it checked but its form; raises BadNoteError."""
    head, blank, checkpoint = text.partition("\n\n")
    lines = head.split("\n")
    if len(text) > LONGEST or not blank or lines[0] != PROOF:
        raise BadNoteError(f"a receipt begins with {PROOF}")
    rest = lines[1:]
    extra = _decoded(rest.pop(0).removeprefix("extra ")) if rest and rest[0].startswith("extra ") else b""
    index = rest.pop(0) if rest else ""
    if not index.startswith("index ") or not _NUMBER.fullmatch(index.removeprefix("index ")):
        raise BadNoteError("a receipt says which index it is about")
    hashes = tuple(_decoded(line) for line in rest)
    if any(len(each) != 32 for each in hashes) or len(hashes) > 63:  # noqa: PLR2004  (SHA-256; levels of a tree)
        raise BadNoteError("a proof is hashes of 32 bytes, not more than a tree has levels")
    return Proof(int(index.removeprefix("index ")), hashes, checkpoint, extra)
