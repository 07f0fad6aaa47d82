"""In which healthy execution does the promise break? Nothing fails, every step keeps its bound, a window closes."""

from dataclasses import asdict, dataclass
from typing import Any

from msgspec import UNSET

from plans.core import rules
from plans.core.columns import Columns
from plans.core.words import inert, span

LATE = 60  # how long after the window closed an unbounded wait ends in the picture: a minute reads well


@dataclass(frozen=True)
class Counterexample:
    """An execution: each step's begin and end in seconds, up to the pivot's begin; the window that closes before."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    holder: int
    opens: int
    closes: int
    pivot_begins: int
    waiting: int | None  # the step whose unbounded wait it is
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def of(c: Columns) -> Counterexample | None:
    """Return an execution in which a window closes before the pivot begins; None where there is none."""
    for code, index, facts in rules.undo_ttl(c):
        if code == "wait-unbounded":
            return _execution(c, holder=int(str(facts[0])), waiting=index)
        return _execution(c, holder=index, waiting=None)
    return None


def _execution(c: Columns, *, holder: int, waiting: int | None) -> Counterexample:
    """Let every step take its worst case, other unbounded ones no time, and the waiting one just too long."""
    takes = [0 if duration is UNSET else duration for duration in c.durations[: c.pivot]]
    window = c.windows[holder]
    if waiting is not None:
        takes[waiting] = max(0, window - sum(takes[holder:waiting])) + LATE
    begins, ends, clock = [], [], 0
    for duration in takes:
        begins.append(clock)
        clock += duration
        ends.append(clock)
    opens = begins[holder]
    return Counterexample(
        begins=tuple(begins),
        ends=tuple(ends),
        holder=holder,
        opens=opens,
        closes=opens + window,
        pivot_begins=clock,
        waiting=waiting,
        sentence=_sentence(c, holder, waiting, takes, clock - opens - window),
    )


def _sentence(c: Columns, holder: int, waiting: int | None, takes: list[int], late: int) -> str:
    held, pivot = inert(c.ids[holder]), inert(c.ids[c.pivot])
    if waiting is None:
        slow = f"every step takes as long as it may; {pivot}, the pivot, begins {span(late)} after the window closed"
    else:
        slow = f"{inert(c.ids[waiting])} takes {span(takes[waiting])}"
    return (
        f"A healthy execution in which the promise breaks: {slow}; {held} can no longer be undone; nothing has failed."
    )
