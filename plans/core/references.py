"""Does a compensation refer only to what exists by the time it runs? `$sN…` names a step's result."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from plans.core.columns import Columns, Finding

MAX_CUTS = 16  # an id may hold dots itself: "$a.b.hold" is tried as a, a.b, a.b.hold, up to so many times
_cuts = re.compile(r"[.\[]").finditer
_looks_like_a_name = re.compile(r"[A-Za-z_][\w-]*").match


def check(c: Columns) -> list[Finding]:
    """Find every compensation argument that names a step which does not exist or comes later."""
    found: list[Finding] = []
    seen: set[str] = set()
    for index, compensation in enumerate(c.compensations):
        seen.add(c.ids[index])
        if compensation is UNSET or compensation.args is UNSET:
            continue
        for name, value in compensation.args.items():
            # The usual argument, a plain text or a reference to a step seen, is settled here without a call of ours.
            if type(value) is str and (value[:1] != "$" or value[1:].partition(".")[0] in seen):
                continue
            found += _within(c, index, value, (name,), seen)
    return found


def _within(c: Columns, index: int, value: Any, path: tuple[str | int, ...], seen: set[str]) -> Iterator[Finding]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _within(c, index, member, (*path, name), seen)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _within(c, index, item, (*path, place), seen)
    elif isinstance(value, str) and value.startswith("$") and _step_in(value, seen) is None:
        later = _step_in(value, c.names)
        if later is not None:
            yield "reference-later", index, (value, path, later)
        elif name := _looks_like_a_name(value, 1):  # "$5.00" is a price, "$s9.hold" names a step
            yield "reference-unknown", index, (value, path, name[0])


def _step_in(value: str, names: set[str] | frozenset[str]) -> str | None:
    """Return the step among `names` that a reference speaks of."""
    ends = [match.start() for match, _ in zip(_cuts(value), range(MAX_CUTS), strict=False)]
    return next((value[1:end] for end in [*ends, len(value)] if value[1:end] in names), None)
