"""Did the holder of a registered key sign these bytes?"""

import base64
import binascii
from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PREFIX = "ed25519:"
KEY_BYTES = 32
SIGNATURE_BYTES = 64


def read(text: str) -> bytes | None:
    """Return the 64 bytes of `ed25519:<base64>`; None if it is anything else."""
    if not text.startswith(PREFIX):
        return None
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == SIGNATURE_BYTES else None


def verifies(signed: bytes, text: str, keys: Iterable[bytes]) -> bool:
    """Tell whether one of the public keys (32 bytes each) made this signature over these bytes."""
    raw = read(text)
    return raw is not None and any(_verifies(signed, raw, key) for key in keys)


def _verifies(signed: bytes, raw: bytes, key: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(raw, signed)
    except (InvalidSignature, ValueError):
        return False
    return True
