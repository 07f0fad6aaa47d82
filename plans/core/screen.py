"""Is there anything to refuse in this plan? One loop that settles the usual case before the rules are asked.

It may send a good plan on to the rules, never pass one that they would refuse: a test compares the two.
"""

from datetime import datetime
from typing import Any

from msgspec import UNSET

from plans.core import artifact, moment
from plans.core.artifact import SAFE_INTEGER, Plan

MARGIN = 1.000_001  # more than the error of any sum of doubles here; closer to the cap, decimals decide


def is_sound(data: bytes, plan: Plan, now: datetime) -> bool:
    """Tell whether a plan, as decoded from these bytes, breaks no rule; False leaves it to the rules.

    An argument that is no text cannot be compared with one, and no instant cannot be compared with `now`: there the
    error is the answer.
    """
    try:
        return _is_sound(data, plan, now)
    except TypeError:
        return False


def _is_sound(data: bytes, plan: Plan, now: datetime) -> bool:  # noqa: C901  (each further loop costs 4 % of it)
    short, pivot, steps = plan.saga_id + ":", plan.pivot_index, plan.steps
    spend: float = 0
    names: set[str] = set()
    for step in steps[:pivot]:
        name = step.id
        names.add(name)
        undo, key = step.compensation, step.idempotency_key
        if step.kind != "compensable" or undo is UNSET or (key != short + name and key is not UNSET):
            return False
        if undo.args is not UNSET:
            for value in undo.args.values():
                if "$" <= value < "%" and value[1:].partition(".")[0] not in names:  # it begins with "$"
                    return False
        if step.max_spend_eur is not UNSET:
            spend += step.max_spend_eur
    for step in steps[pivot:]:
        name = step.id
        names.add(name)
        key = step.idempotency_key
        if step.kind == "compensable" or step.compensation is not UNSET or (key != short + name and key is not UNSET):
            return False
        if step.max_spend_eur is not UNSET:
            spend += step.max_spend_eur
    expires: Any = moment.parse(plan.mandate.expires_at)
    cap = plan.mandate.max_spend_eur
    return (
        pivot < len(steps) == len(names)
        and spend * MARGIN <= cap
        and now < expires
        and _windows_hold(plan)
        and artifact.kept_every_member(data, plan, whole_numbers=type(spend) is type(cap) is int)
    )


def _windows_hold(plan: Plan) -> bool:
    """Tell whether the shortest window outlasts the whole way to the pivot: then every window outlasts its own part."""
    shortest, reach = SAFE_INTEGER, 0
    for step in plan.steps[: plan.pivot_index]:
        window, duration = step.undo_ttl_seconds, step.max_duration_seconds
        if window is not UNSET and window < shortest:
            shortest = window
        if duration is not UNSET:
            reach += duration
        elif shortest < SAFE_INTEGER:
            return False
    return reach <= shortest
