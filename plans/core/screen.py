"""Is there anything to refuse in this plan? One loop that settles the usual case before the rules are asked.

It may send a good plan on to the rules, never pass one that they would refuse: a test compares the two.
"""

from datetime import datetime
from typing import Any

from msgspec import UNSET

from plans.core import artifact, moment
from plans.core.artifact import SAFE_INTEGER, Plan

MARGIN = 1.000_001  # more than the error of any sum of doubles here; closer to the cap, decimals decide


def is_sound(data: bytes, plan: Plan, now: datetime) -> bool:  # noqa: C901  (each further loop or call costs 2 % of it)
    """Tell whether a plan, as decoded from these bytes, breaks no rule; False leaves it to the rules.

    Windows are held to the whole way to the pivot: where the shortest outlasts it, each outlasts its own part.
    """
    short, pivot, steps = plan.saga_id + ":", plan.pivot_index, plan.steps
    spend: float = 0
    reach, shortest = 0, SAFE_INTEGER
    names: set[str] = set()
    for step in steps[:pivot]:
        name, undo, key = step.id, step.compensation, step.idempotency_key
        names.add(name)
        if step.kind != "compensable" or undo is UNSET or (key != short + name and key is not UNSET):
            return False
        if undo.args is not UNSET and not _refers_back(undo.args, names):
            return False
        window, duration = step.undo_ttl_seconds, step.max_duration_seconds
        if window is not UNSET and window < shortest:
            shortest = window
        if duration is not UNSET:
            reach += duration
        elif shortest < SAFE_INTEGER:
            return False
        if step.max_spend_eur is not UNSET:
            spend += step.max_spend_eur
    for step in steps[pivot:]:
        name, key = step.id, step.idempotency_key
        names.add(name)
        if step.kind == "compensable" or step.compensation is not UNSET or (key != short + name and key is not UNSET):
            return False
        if step.max_spend_eur is not UNSET:
            spend += step.max_spend_eur
    expires, cap = moment.parse(plan.mandate.expires_at), plan.mandate.max_spend_eur
    return (
        pivot < len(steps) == len(names)
        and spend * MARGIN <= cap
        and reach <= shortest
        and expires is not None
        and now < expires
        and artifact.kept_every_member(data, plan, whole_numbers=type(spend) is type(cap) is int)
    )


def _refers_back(arguments: dict[str, Any], names: set[str]) -> bool:
    """Tell whether arguments are texts, and those that begin with "$" name a step seen."""
    try:
        for value in arguments.values():
            if "$" <= value < "%" and value[1:].partition(".")[0] not in names:
                return False
    except TypeError:  # a value that is no text cannot be compared with one
        return False
    return True
