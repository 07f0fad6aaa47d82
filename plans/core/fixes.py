"""Which small edits would make the plan valid? Candidates; the verdict offers those that it would accept.

A fix never invents what only the world can know (a missing compensation, an undeclared spend) and never reorders steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import UNSET

from plans.core import canonical, rules, shape
from plans.core.columns import Columns
from plans.core.draft import Draft, Edit
from plans.core.words import euros, inert, seconds

FIVE_DAYS = 432_000  # a deadline for a person where no window suggests one: a working week


@dataclass(frozen=True)
class Fix:
    """A set of edits that makes the plan valid, and what it means."""

    name: str
    text: str
    edits: tuple[Edit, ...]
    plan_bytes: bytes

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "text": self.text, "edits": [edit.as_json() for edit in self.edits]}


def candidates(c: Columns, tree: dict[str, Any], profile: str) -> Iterator[Fix]:
    """Propose fixes, the smallest first; whether one makes the plan valid is for the caller to check."""
    waits = any(code == "wait-unbounded" for code, _, _ in rules.undo_ttl(c))
    for way in (_deadline, _windows, _decision) if waits else (_windows,):
        draft = Draft.of(tree)
        _pivot(draft, c)
        _undo(draft)
        way(draft, c.now, strict=profile == "strict")
        _cap(draft, c.now)
        _keys(draft)
        if draft.edits:
            if "signature" in draft.tree:
                draft.drop("signature", ("signature",))
                draft.because("A changed plan has to be signed again.")
            yield Fix(_name(way.__name__, draft), " ".join(draft.reasons), tuple(draft.edits), draft.plan_bytes())


def _name(way: str, draft: Draft) -> str:
    return way.strip("_") if any(edit.rule == "undo-ttl" for edit in draft.edits) else "repair"


def _pivot(draft: Draft, c: Columns) -> None:
    first = next((i for i, kind in enumerate(c.kinds) if kind != "compensable"), None)
    if not rules.pivot_ordering(c) or first is None or "compensable" in c.kinds[first:]:
        return
    draft.put("pivot-ordering", ("pivotIndex",), first)
    draft.because(f"The pivot is step {inert(c.ids[first])}, the first that cannot be undone.")


def _undo(draft: Draft) -> None:
    for index, step in enumerate(draft.tree["steps"]):
        if step["class"] == "irreversible" and "compensation" in step:
            draft.drop("class-coherence", ("steps", index, "compensation"))
            draft.because(f"Step {inert(step['id'])} promises no undo: it is irreversible.")


def _columns(draft: Draft, now: datetime) -> Columns:
    return Columns(shape.typed(draft.tree), now)


def _needs(c: Columns, index: int, *, strict: bool) -> list[int]:
    """Return the steps whose durations the window of step `index` must outlast, unwinding counted under strict."""
    forward = list(range(index, c.pivot))
    return [*forward, c.pivot, *forward[1:]] if strict else forward


def _deadline(draft: Draft, now: datetime, *, strict: bool) -> None:
    """Bound the waits by the largest duration that fits the windows as they are."""
    c = _columns(draft, now)
    waiting = [index for code, index, _ in rules.undo_ttl(c) if code == "wait-unbounded"]
    bounds = []
    for index, window in enumerate(c.windows):
        parts = [] if window is UNSET else _needs(c, index, strict=strict)
        waits = sum(part in waiting for part in parts)
        if waits:
            spoken_for = sum(c.durations[part] for part in parts if c.durations[part] is not UNSET)
            bounds.append((window - spoken_for) // waits)
    if not bounds or min(bounds) < 1:
        return
    for index in waiting:
        draft.put("undo-ttl", ("steps", index, "maxDurationSeconds"), min(bounds))
    names = ", ".join(inert(c.ids[index]) for index in waiting)
    draft.because(f"Give {names} a deadline of {seconds(min(bounds))}: the longest that fits the windows as they are.")


def _windows(draft: Draft, now: datetime, *, strict: bool) -> None:
    """Bound the waits, and size the windows to what they must outlast."""
    for code, index, _ in rules.undo_ttl(_columns(draft, now)):
        if code == "wait-unbounded":
            draft.put("undo-ttl", ("steps", index, "maxDurationSeconds"), FIVE_DAYS)
            name = inert(draft.tree["steps"][index]["id"])
            draft.because(f"Give {name} a deadline, here {seconds(FIVE_DAYS)}; put the one that is true.")
    c = _columns(draft, now)
    for index, window in enumerate(c.windows):
        durations = [c.durations[part] for part in _needs(c, index, strict=strict)] if window is not UNSET else []
        need = sum(duration for duration in durations if duration is not UNSET)
        if window is not UNSET and need > window:
            draft.put("undo-ttl", ("steps", index, "undoTtlSeconds"), need)
            draft.because(
                f"Step {inert(c.ids[index])} must stay undoable for {seconds(need)}: only if its target agrees."
            )


def _decision(draft: Draft, now: datetime, *, strict: bool) -> None:  # noqa: ARG001  (the ways share one signature)
    """Make the first wait without a bound the pivot."""
    c = _columns(draft, now)
    place = next((index for code, index, _ in rules.undo_ttl(c) if code == "wait-unbounded"), 0)
    if not place:
        return
    draft.put("undo-ttl", ("pivotIndex",), place)
    draft.put("undo-ttl", ("steps", place, "class"), "irreversible")
    draft.drop("undo-ttl", ("steps", place, "compensation"))
    draft.drop("undo-ttl", ("steps", place, "undoTtlSeconds"))
    draft.because(
        f"The decision {inert(c.ids[place])} is the pivot: what comes before it can be undone until it begins."
    )
    later = [index for index in range(place + 1, c.pivot) if c.kinds[index] == "compensable"]
    for index in later:
        draft.put("undo-ttl", ("steps", index, "class"), "retriable")
    if later:
        names = ", ".join(inert(c.ids[index]) for index in later)
        draft.because(f"After it {names} can no longer be rolled back, only tried again: check that this is true.")


def _cap(draft: Draft, now: datetime) -> None:
    """Raise the mandate to what the steps may spend."""
    c = _columns(draft, now)
    if not any(code.endswith("above-cap") for code, _, _ in rules.mandate(c)):
        return
    total = rules.exact_sum(spend for spend in c.spends if spend is not UNSET)
    cap = int(total) if total == int(total) else float(total)
    if Decimal(repr(cap)) != total:
        return  # no double stands for this sum
    draft.put("mandate", ("mandate", "maxSpendEur"), cap)
    draft.because(f"Ask whoever gave the mandate for {euros(cap)}: a plan cannot grant itself more.")


def _keys(draft: Draft) -> None:
    """Derive again, last of all, each key that is not that of its step: other edits change a step's hash."""
    saga = draft.tree["sagaId"]
    for index, step in enumerate(draft.tree["steps"]):
        key, short = step.get(canonical.KEY), canonical.key(saga, step)
        if key is None or key == short:
            continue
        right = canonical.key(saga, step, whole=key.startswith(short + ":"))
        if key != right:
            draft.put("key-integrity", ("steps", index, canonical.KEY), right)
            draft.because(f"The key of step {inert(step['id'])} is derived again.")
