"""How are secrets kept in rows without the database knowing them? Encrypted, with a key that lies outside of it.

`settings.KEY_SECRETS` lists the secrets the keys come from: the first encrypts, all of them decrypt, so that a secret
can be replaced. What is encrypted is bound to what it is about: moved to another row it opens nothing.
"""

import base64
import json
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class CannotOpenError(Exception):
    """A secret cannot be decrypted here, or is about something else; `about` names what it should be about."""

    def __init__(self, about: str) -> None:
        self.about = about
        super().__init__(f"The secret of {about} cannot be opened with TAKEBACK_KEY_SECRET.")


def close(value: str, *, about: str) -> str:
    """Return the secret encrypted, bound to what it is about."""
    return _fernet(tuple(settings.KEY_SECRETS)).encrypt(json.dumps([about, value]).encode()).decode()


def open_(kept: str, *, about: str) -> str:
    """Return the secret; raises CannotOpenError."""
    try:
        named, value = json.loads(_fernet(tuple(settings.KEY_SECRETS)).decrypt(kept.encode()))
    except InvalidToken:
        raise CannotOpenError(about) from None
    if named != about:
        raise CannotOpenError(about)
    return str(value)


@cache
def _fernet(secrets: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_key(secret)) for secret in secrets])


def _key(secret: str) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"takeback rows").derive(secret.encode())
    return base64.urlsafe_b64encode(derived)
