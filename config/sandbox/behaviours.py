"""What can the sandbox be told to do about an object? Every behaviour, and how one is read from a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Answered without acting, unless `acts` says that the work is done all the same.
BEFORE = frozenset({"busy", "unavailable", "error", "drop_before", "redirect", "forbid", "unauthorized", "gone"})
# How the work itself goes; the answer is kept with its key.
BUSINESS = frozenset(
    {"accept", "done", "succeeded", "pending", "failed", "refuse", "settle_failed", "disappear", "location_elsewhere"}
)
# The work goes as by default; only the answer does not come, or comes late.
AFTER = frozenset({"drop", "hang", "slow"})
LONGEST_WAIT = 3600.0
PLACES = ("write", "read")


class BadBehaviourError(Exception):
    """What the sandbox is told cannot be meant."""


@dataclass
class Behaviour:
    """What is done at the next requests about an object: at its `write`s or `read`s, `times` or for ever.

    `seconds` is how long hang and slow take, and after how long what was accepted settles.
    """

    do: str = "accept"
    on: str = "write"
    times: int | None = None
    seconds: float | None = None
    reason: str = ""
    retry_after: str = ""
    url: str = ""
    acts: bool = False


def read(told: Mapping[str, Any]) -> Behaviour:
    """Return the behaviour of a JSON object; raises BadBehaviourError naming the member that cannot be meant."""
    unknown = sorted(set(told) - set(Behaviour.__dataclass_fields__))
    if unknown:
        raise BadBehaviourError(f"unknown members: {', '.join(unknown)}"[:200])
    if told.get("do") not in [*BEFORE, *BUSINESS, *AFTER]:
        raise BadBehaviourError(f"do: one of {', '.join(sorted(BEFORE | BUSINESS | AFTER))}")
    if told.get("on", "write") not in PLACES:
        raise BadBehaviourError("on: write or read")
    _check_numbers(told.get("times"), told.get("seconds"))
    if not isinstance(told.get("acts", False), bool):
        raise BadBehaviourError("acts: true or false")
    texts = {name: header_text(told, name) for name in ("reason", "retry_after", "url")}
    return Behaviour(**{**told, **texts})


def header_text(told: Mapping[str, Any], name: str) -> str:
    """Return a member that may stand in a header: printable ASCII, or a number as text."""
    value = told.get(name, "")
    text = str(value) if isinstance(value, str | int) else "\0"
    if not (text.isascii() and (text.isprintable() or not text)) or len(text) > 500:  # noqa: PLR2004  (enough for any address)
        raise BadBehaviourError(f"{name}: at most 500 printable ASCII characters")
    return text


def _check_numbers(times: Any, seconds: Any) -> None:
    if times is not None and (type(times) is not int or times < 1):
        raise BadBehaviourError("times: a whole number of at least 1")
    if seconds is not None and (type(seconds) not in {int, float} or not 0 <= seconds <= LONGEST_WAIT):
        raise BadBehaviourError(f"seconds: between 0 and {LONGEST_WAIT:g}")
