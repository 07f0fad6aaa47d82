"""How do numbers, steps and places read in a sentence? Text that an author wrote comes out inert."""

import math
from decimal import Decimal
from typing import Any

from audit.inert import visible

LONGEST = 80
_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
DAYS_FROM = 2 * 86_400  # up to two days people count hours


def inert(text: str) -> str:
    """Return an author's text on one line, with invisible characters written out, cut to a readable length."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return shown if shown.isprintable() else visible(shown)


def seconds(amount: float) -> str:
    """Return `86400 s (1 d)`: the number as declared, and in words people use."""
    whole = int(amount)
    spoken = span(whole)
    return f"{whole} s" if spoken == f"{whole} s" else f"{whole} s ({spoken})"


def span(amount: int) -> str:
    """Return a duration in at most two units: `24 h 1 min`, `5 d`, `45 s`."""
    if amount < 60:  # noqa: PLR2004  (a minute)
        return f"{amount} s"
    for unit, size, smaller, part in _UNITS:
        if amount >= size and (unit != "d" or amount > DAYS_FROM):
            whole, rest = amount // size, amount % size // part
            return f"{whole} {unit} {rest} {smaller}" if rest else f"{whole} {unit}"
    return f"{amount} s"


def taken(amount: float, most: int) -> str:
    """Return how long something took that may take `most`; by tenths where it would read the same."""
    text, allowed = span(int(amount)), span(most)
    if text != allowed or amount <= most:
        return text
    tenths = math.ceil((amount - most) * 10) / 10
    return f"{most + tenths:.1f} s" if most < 60 else f"{allowed} and {tenths:.1f} s"  # noqa: PLR2004  (a minute)


def euros(amount: Decimal | float) -> str:
    """Return money in full and plainly."""
    return f"{plain(Decimal(repr(amount)) if isinstance(amount, float) else Decimal(amount))} EUR"


def plain(amount: Decimal) -> str:
    """Return a number in full: never in exponent form, no noughts after the last decimal that counts."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def place(path: tuple[str | int, ...]) -> str:
    """Return `steps[1].maxDurationSeconds`; the plan itself is `plan`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{inert(part)}"
    return text.removeprefix(".") or "plan"


def shown(value: Any) -> str:
    """Return a short, inert rendering of a JSON value."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return f'"{inert(value)}"'
    return {"None": "null", "True": "true", "False": "false"}.get(str(value)) or inert(str(value))
