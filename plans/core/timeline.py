"""Which numbers does a picture of the plan need?"""

from dataclasses import asdict, dataclass
from typing import Any

from msgspec import UNSET

from plans.core.columns import Columns


@dataclass(frozen=True)
class Span:
    """One step in time, in seconds from the plan's begin; None is unbounded (or, for a window, not declared)."""

    id: str
    tool: str
    kind: str
    duration: int | None
    earliest: int
    latest: int | None
    window: int | None
    need: int | None  # the worst case from this step's begin until the pivot begins; None also from the pivot on
    slack: int | None
    fate: str  # "fits" | "short" | "unbounded" | "no window" | "pivot" | "after"


@dataclass(frozen=True)
class Timeline:
    """A plan in time. `pivot` is None where pivotIndex points at no step."""

    pivot: int | None
    reach: int | None  # the worst case until the pivot begins
    steps: tuple[Span, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def of(c: Columns) -> Timeline:
    """Work out each step's earliest and latest begin, its window, need and slack."""
    pivot = c.pivot if c.pivot >= 0 else None
    durations = [None if duration is UNSET else duration for duration in c.durations]
    latest: list[int | None] = [0]
    for duration in durations:
        latest.append(_plus(latest[-1], duration))
    needs: list[int | None] = [0]
    for duration in durations[: pivot or 0][::-1]:
        needs.append(_plus(needs[-1], duration))
    needs.reverse()
    spans = [_span(c, index, durations[index], latest[index], needs) for index in range(len(durations))]
    return Timeline(pivot, None if pivot is None else latest[pivot], tuple(spans))


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _span(c: Columns, index: int, duration: int | None, latest: int | None, needs: list[int | None]) -> Span:
    step, before = c.plan.steps[index], index < len(c.windows)
    window = c.windows[index] if before and c.windows[index] is not UNSET else None
    need = needs[index] if before else None
    slack = None if window is None or need is None else window - need
    return Span(
        id=step.id,
        tool=step.tool,
        kind=step.kind,
        duration=duration,
        earliest=0,  # nothing declares a least duration
        latest=latest,
        window=window,
        need=need,
        slack=slack,
        fate=_fate(index, c.pivot, window, need),
    )


def _fate(index: int, pivot: int, window: int | None, need: int | None) -> str:
    if index >= pivot:
        return "pivot" if index == pivot else "after"
    if window is None:
        return "no window"
    if need is None:
        return "unbounded"
    return "fits" if need <= window else "short"
