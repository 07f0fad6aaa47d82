"""What is said about each finding? One table: code, rule, place and sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from plans.core.columns import Columns, Finding
from plans.core.words import euros, inert, place, seconds

Path = tuple[str | int, ...]
Telling = Callable[..., str]


@dataclass(frozen=True)
class Remark:
    """One violation or warning: the rule, the member it is about, and the sentence."""

    rule: str
    path: Path
    message: str
    code: str = ""

    @property
    def place(self) -> str:
        """Where a reader should look: a wait without a bound is about its step, not about a member that is absent."""
        return place(self.path[:2] if self.code == "wait-unbounded" else self.path)


def say(c: Columns, finding: Finding) -> Remark:
    """Put a finding into words."""
    code, index, facts = finding
    rule, member, telling = TABLE[code]
    path: Path = ("steps", index, *member) if index >= 0 else member
    if code.startswith("reference-"):
        path = (*path, *cast("Path", facts[1]))
    return Remark(rule, path, telling(_Voice(c), index, *facts), code)


class _Voice:
    """Names of steps, as sentences use them."""

    def __init__(self, c: Columns) -> None:
        self.c = c

    def step(self, index: int) -> str:
        step = self.c.plan.steps[index]
        return f"{inert(step.id)} ({inert(step.tool)})"

    @property
    def pivot(self) -> str:
        return f"the pivot, step {self.step(self.c.pivot)}"

    def window(self, index: int) -> int:
        window = self.c.windows[index]
        assert isinstance(window, int)
        return window


def _id_twice(_v: _Voice, _: int, name: str, first: int) -> str:
    return f'Two steps have the id "{inert(name)}": steps[{first}] has it first.'


def _key_twice(v: _Voice, index: int, key: str, first: int) -> str:
    both = f"Steps {v.step(first)} and {v.step(index)}"
    return f'{both} have one key, "{inert(key)}": one of them would be taken for a repeat.'


def _key_underived(v: _Voice, index: int, key: str, right: str) -> str:
    return (
        f"The key of step {v.step(index)} is not derived from its saga and step: "
        f'it is "{inert(key)}", it should be "{inert(right)}", with or without ":" and the hash of the step.'
    )


def no_instant(text: str) -> str:
    """Say that a text names no instant."""
    return f'"{inert(text)}" is no instant: RFC 3339 with an offset is needed, such as 2027-01-31T18:00:00Z.'


def _expiry_unreadable(_v: _Voice, _: int, text: str) -> str:
    return no_instant(text)


def _pivot_past_end(_v: _Voice, _: int, pivot: int, steps: int) -> str:
    return f"pivotIndex {pivot} points past the last step: there are {steps}, counted from 0."


def _pivot_early(v: _Voice, index: int, kind: str, _pivot: int) -> str:
    return (
        f"Step {v.step(index)} is {kind} and stands before {v.pivot}: "
        "everything before the pivot must be compensable, or there is no way back from there."
    )


def _pivot_late(v: _Voice, index: int, pivot: int) -> str:
    where = "is the pivot" if index == pivot else f"comes after {v.pivot}"
    return (
        f"Step {v.step(index)} is compensable and {where}: past the pivot nothing is rolled back, "
        "its compensation would never run."
    )


def _undo_missing(v: _Voice, index: int) -> str:
    return f"Step {v.step(index)} says it can be undone and does not say how: it declares no compensation."


def _undo_impossible(v: _Voice, index: int, tool: str) -> str:
    return (
        f"Step {v.step(index)} says it is irreversible and declares a compensation ({inert(tool)}): "
        "one of the two is wrong."
    )


def _reference_unknown(v: _Voice, index: int, value: str, _path: Path, name: str) -> str:
    return f'The compensation of step {v.step(index)} refers to "{inert(value)}": there is no step "{inert(name)}".'


def _reference_later(v: _Voice, index: int, value: str, _path: Path, name: str) -> str:
    return (
        f'The compensation of step {v.step(index)} refers to "{inert(value)}": step "{inert(name)}" comes later '
        "and may not have run."
    )


def _step_above_cap(v: _Voice, index: int, spend: float, cap: float) -> str:
    return f"Step {v.step(index)} may spend {euros(spend)}, more than the mandate's {euros(cap)}."


def _sum_above_cap(_v: _Voice, _: int, total: Any, cap: float) -> str:
    return f"The steps may spend {euros(total)} together, more than the mandate's {euros(cap)}."


def _mandate_expired(_v: _Voice, _: int, expires: str, now: Any) -> str:
    return f"The mandate ended at {inert(expires)}; it is {now.isoformat()}."


def _wait_unbounded(v: _Voice, index: int, holder: int) -> str:
    held = "It holds an undo window itself" if holder == index else f"Step {v.step(holder)} can be undone"
    window = seconds(v.window(holder))
    held += f", {window}," if holder == index else f" for {window} only,"
    return (
        f"Step {v.step(index)} declares no maxDurationSeconds. {held} and that must last until {v.pivot}: "
        "a wait without a bound does not fit into a bounded window. Either declare maxDurationSeconds on "
        f"{inert(v.c.ids[index])} and size the windows to it, or make the human decision the pivot."
    )


def _window_short(v: _Voice, index: int, need: int, bounded: bool) -> str:  # noqa: FBT001  (facts come by place)
    window = v.window(index)
    least = "" if bounded else "at least "
    return (
        f"Step {v.step(index)} can be undone for {seconds(window)}, but {least}{seconds(need)} may pass from its begin "
        f"until {v.pivot}, begins: {seconds(need - window)} too short."
    )


def _key_stale(v: _Voice, index: int, _key: str, right: str) -> str:
    return (
        f"The key of step {v.step(index)} carries the hash of other bytes: the step was changed after the key "
        f"was made, or the key belongs to another payload. For these bytes it would end in {right[-64:]}."
    )


def _unwind_short(v: _Voice, index: int, need: int, window: int) -> str:
    return (
        f"If {v.pivot}, fails at its end, undoing comes to step {v.step(index)} up to {seconds(need)} after its begin; "
        f"its window is {seconds(window)}. (Each compensation is taken to need at most what its step may need.)"
    )


def _held_across(v: _Voice, index: int, holder: int) -> str:
    where = "the pivot" if index == v.c.pivot else "a step after the pivot"
    return (
        f"Step {v.step(index)}, {where}, declares no maxDurationSeconds while the window of step {v.step(holder)}, "
        f"{seconds(v.window(holder))}, is held: if it fails late, that window may have closed."
    )


def _window_undeclared(v: _Voice, index: int) -> str:
    return f"Step {v.step(index)} declares no undoTtlSeconds: its undo is taken as never expiring."


def _spend_undeclared(v: _Voice, index: int) -> str:
    return (
        f"Step {v.step(index)} declares no maxSpendEur: its worst case is unknown and not part of the sum held against "
        f"the mandate's {euros(v.c.plan.mandate.max_spend_eur)}."
    )


def _outlives_mandate(_v: _Voice, _: int, worst: int, left: float) -> str:
    return f"The plan may take {seconds(worst)}, the mandate ends in {seconds(left)}."


def _outlives_unbounded(v: _Voice, _: int, index: int) -> str:
    return f"The plan may outlive its mandate: step {v.step(index)} has no bound, so the whole has none."


_STEP_KEY, _WINDOW, _DURATION = ("idempotencyKey",), ("undoTtlSeconds",), ("maxDurationSeconds",)
_UNDO, _EXPIRY, _SPEND = ("compensation",), ("mandate", "expiresAt"), ("maxSpendEur",)
TABLE: dict[str, tuple[str, Path, Telling]] = {
    "id-twice": ("schema", ("id",), _id_twice),
    "key-twice": ("schema", _STEP_KEY, _key_twice),
    "key-underived": ("schema", _STEP_KEY, _key_underived),
    "expiry-unreadable": ("schema", _EXPIRY, _expiry_unreadable),
    "pivot-past-end": ("pivot-ordering", ("pivotIndex",), _pivot_past_end),
    "pivot-early": ("pivot-ordering", ("class",), _pivot_early),
    "pivot-late": ("pivot-ordering", ("class",), _pivot_late),
    "undo-missing": ("class-coherence", _UNDO, _undo_missing),
    "undo-impossible": ("class-coherence", _UNDO, _undo_impossible),
    "reference-unknown": ("class-coherence", ("compensation", "args"), _reference_unknown),
    "reference-later": ("class-coherence", ("compensation", "args"), _reference_later),
    "step-above-cap": ("mandate", _SPEND, _step_above_cap),
    "sum-above-cap": ("mandate", ("mandate", "maxSpendEur"), _sum_above_cap),
    "mandate-expired": ("mandate", _EXPIRY, _mandate_expired),
    "wait-unbounded": ("undo-ttl", _DURATION, _wait_unbounded),
    "window-short": ("undo-ttl", _WINDOW, _window_short),
    "key-stale": ("key-integrity", _STEP_KEY, _key_stale),
    "unwind-short": ("unwind-time", _WINDOW, _unwind_short),
    "held-across": ("window-held-across", _DURATION, _held_across),
    "window-undeclared": ("window-undeclared", _WINDOW, _window_undeclared),
    "spend-undeclared": ("spend-undeclared", _SPEND, _spend_undeclared),
    "outlives-mandate": ("outlives-mandate", _EXPIRY, _outlives_mandate),
    "outlives-unbounded": ("outlives-mandate", _EXPIRY, _outlives_unbounded),
}
