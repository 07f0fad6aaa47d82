"""Which rules does a plan break? Six of them, each collecting everything it finds.

Each rule first looks at whole columns, which settles the usual plan, and goes through the steps only for the details.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET

from plans.core import canonical, references
from plans.core.columns import PLAN, Columns, Finding

_hash = re.compile(r"[0-9a-f]{64}").fullmatch


def schema(c: Columns) -> list[Finding]:
    """Refuse two steps with one id or key, a key not derived from its saga and step, an expiry that is no instant."""
    found: list[Finding] = [] if c.expires else [("expiry-unreadable", PLAN, (c.plan.mandate.expires_at,))]
    if len(c.names) != len(c.ids):
        found += _twice("id-twice", enumerate(c.ids))
    short = c.plan.saga_id + ":"
    if c.keys != tuple([short + name for name in c.ids]):
        keys = [(index, key) for index, key in enumerate(c.keys) if key is not UNSET]
        wrong = [(index, key) for index, key in keys if not _is_derived(key, short + c.ids[index])]
        found += [("key-underived", index, (key, short + c.ids[index])) for index, key in wrong]
        if not found:  # with ids apart and keys derived, equal keys mean that an id ends like a hash
            found += _twice("key-twice", keys)
    return found


def _twice(code: str, values: Iterable[tuple[int, str]]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, value in values:
        if first.setdefault(value, index) != index:
            yield code, index, (value, first[value])


def _is_derived(key: str, short: str) -> bool:
    return key == short or (key.startswith(short + ":") and _hash(key, len(short) + 1) is not None)


def pivot_ordering(c: Columns) -> list[Finding]:
    """Hold that before the pivot everything can be undone; from the pivot on nothing can."""
    pivot, kinds = c.pivot, c.kinds
    if pivot < 0:
        return [("pivot-past-end", PLAN, (c.plan.pivot_index, len(kinds)))]
    before = kinds[:pivot].count("compensable")
    if before == pivot and kinds.count("compensable") == before:
        return []
    early = [("pivot-early", i, (kind, pivot)) for i, kind in enumerate(kinds[:pivot]) if kind != "compensable"]
    late = [("pivot-late", i, (pivot,)) for i, kind in enumerate(kinds[pivot:], pivot) if kind == "compensable"]
    return [*early, *late]


def class_coherence(c: Columns) -> list[Finding]:
    """Hold that a class and its compensation agree, and a compensation refers only to steps that ran before it."""
    found: list[Finding] = []
    for index, (kind, compensation) in enumerate(zip(c.kinds, c.compensations, strict=True)):
        if compensation is UNSET:
            if kind == "compensable":
                found.append(("undo-missing", index, ()))
        elif kind == "irreversible":
            found.append(("undo-impossible", index, (compensation.tool,)))
    return found + references.check(c)


def mandate(c: Columns) -> list[Finding]:
    """Hold that no step and no sum above the cap, and the mandate has not ended."""
    cap = c.plan.mandate.max_spend_eur
    spends = c.spends if UNSET not in c.spends else [spend for spend in c.spends if spend is not UNSET]
    found: list[Finding] = []
    total = sum(spends)
    if type(total) is not int:
        total = exact_sum(spends)
    if total > cap:
        found = [("step-above-cap", i, (x, cap)) for i, x in enumerate(c.spends) if x is not UNSET and x > cap]
        if total > exact(cap):
            found.append(("sum-above-cap", PLAN, (total, cap)))
    if c.expires and c.now >= c.expires:
        found.append(("mandate-expired", PLAN, (c.plan.mandate.expires_at, c.now)))
    return found


def exact(amount: float) -> Decimal | int:
    """Return the decimal that the author wrote: the shortest one that reads back as this double."""
    return amount if type(amount) is int else Decimal(repr(amount))


def exact_sum(amounts: Iterable[float]) -> Decimal | int:
    """Add money as it was written: 3 x 0.1 is 0.3."""
    return sum(map(exact, amounts), Decimal(0))


def undo_ttl(c: Columns) -> list[Finding]:
    """Hold that every window opened before the pivot outlasts the worst case from its begin until the pivot begins."""
    durations = c.durations[: len(c.windows)]
    found: list[Finding] = []
    if UNSET in durations:
        found += [
            ("wait-unbounded", index, (holder,))
            for index, holder in enumerate(c.shortest_windows())
            if holder >= 0 and durations[index] is UNSET
        ]
    return found + list(_short_windows(c.windows, durations))[::-1]


def _short_windows(windows: tuple[Any, ...], durations: tuple[Any, ...]) -> Iterator[Finding]:
    need, bounded = 0, True
    for index in range(len(durations) - 1, -1, -1):
        duration, window = durations[index], windows[index]
        if duration is UNSET:
            bounded = False
        else:
            need += duration
        if window is not UNSET and need > window:
            yield "window-short", index, (need, bounded)


def key_integrity(c: Columns) -> list[Finding]:
    """Hold that a key that carries a hash carries that of its step's bytes."""
    found: list[Finding] = []
    for index, key in enumerate(c.keys):
        if key is not UNSET and key[-65:-64] == ":" and _is_derived(key, short := f"{c.plan.saga_id}:{c.ids[index]}"):
            right = f"{short}:{canonical.step_hash(msgspec.to_builtins(c.plan.steps[index]))}"
            if key not in (short, right):
                found.append(("key-stale", index, (key, right)))
    return found


def violations(c: Columns) -> list[Finding]:
    """Collect every violation, in the order of the rules."""
    return [
        *schema(c),
        *pivot_ordering(c),
        *class_coherence(c),
        *mandate(c),
        *undo_ttl(c),
        *key_integrity(c),
    ]
