"""What do the rules read? A plan's steps as columns, so that a rule is one look at a column, or a bare loop."""

from datetime import datetime

from msgspec import UNSET
from msgspec.structs import astuple

from plans.core import moment
from plans.core.artifact import Plan

# What a rule found: a code of `sentences.TABLE`, the step it is about (-1: the plan), the facts its sentence needs.
Finding = tuple[str, int, tuple[object, ...]]
PLAN = -1


class Columns:
    """A plan, its steps by column, and the moment it is judged at."""

    __slots__ = (
        "compensations",
        "durations",
        "expires",
        "ids",
        "keys",
        "kinds",
        "names",
        "now",
        "pivot",
        "plan",
        "spends",
        "windows",
    )

    def __init__(self, plan: Plan, now: datetime) -> None:
        self.plan = plan
        self.now = now
        self.expires = moment.parse(plan.mandate.expires_at)
        columns = zip(*map(astuple, plan.steps), strict=True)
        self.ids, _, self.kinds, self.compensations, windows, self.spends, self.durations, self.keys = columns
        self.names = frozenset(self.ids)
        # A pivot past the last step is one violation; the order rules then see no step before it and stay silent.
        self.pivot = plan.pivot_index if plan.pivot_index < len(self.ids) else PLAN
        self.windows = windows[: max(self.pivot, 0)]  # past the pivot a window protects nothing

    def shortest_windows(self) -> list[int]:
        """For each step before the pivot: the holder of the shortest window open while it runs, or -1 (no window)."""
        holder, holders = PLAN, []
        for index, window in enumerate(self.windows):
            if window is not UNSET and (holder < 0 or window < self.windows[holder]):
                holder = index
            holders.append(holder)
        return holders
