"""What does a receipt that somebody pastes prove? Answered by the very program that an auditor takes home."""

import json
from dataclasses import dataclass
from pathlib import Path

from audit import presenters, verify_offline

PROVEN, NOT_PROVEN, CANNOT_TELL = "proven", "not proven", "cannot tell"
LONGEST = 200_000  # characters; a receipt of the longest record has about half


@dataclass(frozen=True)
class Checked:
    """The answer, in one word and in a sentence; the record in words and as it was hashed where it is proven."""

    answer: str
    detail: str
    sentence: str = ""
    body: str = ""


def check(text: str, keys: str) -> Checked:
    """Check a receipt with the keys that are held, one a line."""
    if len(text) > LONGEST or len(keys) > LONGEST:
        return Checked(CANNOT_TELL, "this is too long for a receipt")
    try:
        found = verify_offline.read_keys(keys.replace("\r\n", "\n"))
        detail, body = verify_offline.check_receipt(text.replace("\r\n", "\n").lstrip(), found)
        return Checked(PROVEN, detail.partition(": ")[2], _sentence(body), body.decode())
    except verify_offline.NotProvenError as error:
        return Checked(NOT_PROVEN, str(error))
    except (verify_offline.CannotTellError, ValueError) as error:
        return Checked(CANNOT_TELL, str(error) if isinstance(error, verify_offline.CannotTellError) else "unreadable")


def _sentence(body: bytes) -> str:
    try:
        return presenters.sentence(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def program() -> str:
    """Return the text of the program that checks receipts and exports anywhere."""
    return Path(verify_offline.__file__).read_text(encoding="utf-8")
