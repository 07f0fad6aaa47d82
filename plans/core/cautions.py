"""What should a reader of an accepted plan still know? Warnings: never hidden, errors under the strict profile."""

from msgspec import UNSET

from plans.core.columns import PLAN, Columns, Finding


def unwinding(c: Columns) -> list[Finding]:
    """Find windows that reach the pivot's begin but not the end of a rollback started at the pivot's end.

    No compensation declares a duration; each is taken to need at most what its step may need.
    """
    pivot = c.pivot
    last = c.durations[pivot] if pivot >= 0 else UNSET
    if last is UNSET:
        return []
    found: list[Finding] = []
    forward, back = 0, last
    for index in range(pivot - 1, -1, -1):
        duration, window = c.durations[index], c.windows[index]
        if duration is UNSET:
            break  # an unbounded wait is a violation where it breaks a window
        forward += duration
        if window is not UNSET and forward <= window < forward + back:
            found.append(("unwind-short", index, (forward + back, window)))
        back += duration
    return found[::-1]


def spend_undeclared(c: Columns) -> list[Finding]:
    """Find steps whose worst-case spend nobody declared, though there is a cap."""
    if UNSET not in c.spends:
        return []
    return [("spend-undeclared", i, ()) for i, spend in enumerate(c.spends) if spend is UNSET]


def outlives_mandate(c: Columns) -> list[Finding]:
    """Find a worst case that ends after the mandate does, or has no end."""
    if c.expires is None or c.now >= c.expires:
        return []
    if UNSET in c.durations:
        return [("outlives-unbounded", PLAN, (c.durations.index(UNSET),))]
    worst = sum(duration for duration in c.durations if duration is not UNSET)
    left = (c.expires - c.now).total_seconds()
    return [("outlives-mandate", PLAN, (worst, left))] if worst > left else []


def held_across(c: Columns) -> list[Finding]:
    """Find steps without a bound at or after the pivot while a window is held."""
    pivot = c.pivot
    if pivot < 0 or UNSET not in c.durations[pivot:]:
        return []
    holder = c.shortest_windows()[-1] if pivot else PLAN
    if holder < 0:
        return []
    after = enumerate(c.durations[pivot:], pivot)
    return [("held-across", index, (holder,)) for index, duration in after if duration is UNSET]


def window_undeclared(c: Columns) -> list[Finding]:
    """Find compensable steps that declare no window: taken as never expiring."""
    if UNSET not in c.windows:
        return []
    return [
        ("window-undeclared", index, ())
        for index, window in enumerate(c.windows)
        if window is UNSET and c.kinds[index] == "compensable"
    ]


def warnings(c: Columns) -> list[Finding]:
    """Collect every warning."""
    return [
        *unwinding(c),
        *held_across(c),
        *window_undeclared(c),
        *spend_undeclared(c),
        *outlives_mandate(c),
    ]
