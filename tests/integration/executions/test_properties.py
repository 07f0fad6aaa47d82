"""Whatever an agent does, does no pivot begin over a closed window, and is what failed in time asked back in time?"""

from typing import Any

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from plans.core.gates import GateClosedError
from plans.core.lifecycle import ExecutionStateError
from plans.core.windows import held
from plans.courses import Course
from plans.models import StepRun
from sideeffects.models import Effect, Request, Revocation
from tests import external
from tests.executions import Run, seconds, step

FEW, MANY = 8, 400


@st.composite
def plans(draw: Any) -> dict[str, Any]:
    """Give an accepted plan of contacts before its pivot, with windows just long enough or longer."""
    durations = draw(st.lists(st.integers(1, 60), min_size=1, max_size=4))
    steps = []
    for index, duration in enumerate(durations):
        window = sum(durations[index:]) + draw(st.integers(0, 40))
        numbers = {"maxDurationSeconds": duration, "undoTtlSeconds": window, "maxSpendEur": 10}
        steps.append(step(f"s{index}", "crm.create_contact", undo="crm.delete", **numbers))
    steps.append(step("pivot", "fee.capture", maxDurationSeconds=60, maxSpendEur=10))
    mandate = {"maxSpendEur": 10 * len(steps), "expiresAt": "2027-01-31T00:00:00Z"}
    return {"sagaId": "sg_any", "pivotIndex": len(durations), "mandate": mandate, "steps": steps}


# How each step goes: how long after the one before it begins, how much of its bound it takes, and whether it fails.
WAITS = st.lists(st.sampled_from([0, 0, 0, 5, 30]), min_size=5, max_size=5)
SHARES = st.lists(st.sampled_from([0.2, 0.9, 1.0, 1.0, 1.4]), min_size=5, max_size=5)
FATES = st.lists(st.sampled_from(["complete", "complete", "complete", "fail"]), min_size=5, max_size=5)


def carry_out(plan: dict[str, Any], waits: list[int], shares: list[float], fates: list[str]) -> None:
    external.registered("http://127.0.0.1:9")
    run, now, kept = Run(plan), 0, True
    for number, one in enumerate(plan["steps"]):
        now += waits[number]
        course, refusal = begun(run, one["id"], now)
        if course is None:
            assert refusal is not None
            assert refusal.closes_at is not None
            assert str(refusal.window) in str(refusal)
            break
        if one["id"] == "pivot":
            assert all(window.closes_at >= seconds(now) for window in held(course.script, course.ran))
            break
        took = int(one["maxDurationSeconds"] * shares[number])
        kept, now = kept and took <= one["maxDurationSeconds"], now + took
        if fates[number] == "fail":
            check(run, run.fail(one["id"], now).row.state, now, kept=kept)
            break
        run.complete(one["id"], now)
    reserved = sum(one.reserved for one in StepRun.objects.filter(execution=run.id))
    assert reserved <= plan["mandate"]["maxSpendEur"]


def begun(run: Run, name: str, now: int) -> tuple[Course | None, GateClosedError | None]:
    try:
        return run.begin(name, now), None
    except GateClosedError as refusal:
        return None, refusal


def check(run: Run, state: str, now: int, *, kept: bool) -> None:
    assert state == "rolled_back"
    completed = StepRun.objects.filter(execution=run.id, state="completed")
    asked = Request.objects.filter(effect__group__execution=str(run.id))
    assert not asked.filter(asked_at__gt=F("effect__undo_expires_at")).exists()
    order = list(Revocation.objects.order_by("id").values_list("group__step", flat=True))
    assert order == sorted(order, reverse=True)
    if kept:
        assert asked.count() == completed.count()
        assert set(Effect.objects.values_list("state", flat=True)) <= {"requesting"}
    with pytest.raises(ExecutionStateError):
        run.begin("s0", now)


class Properties(TestCase):
    """Each example in a transaction of its own."""

    @settings(max_examples=FEW, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(plans(), WAITS, SHARES, FATES)
    def test_a_few(self, plan, waits, shares, fates):
        with self.settings(TARGET_HOSTS=frozenset({"127.0.0.1:9"})):
            carry_out(plan, waits, shares, fates)

    @pytest.mark.soak
    @settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
    @given(plans(), WAITS, SHARES, FATES)
    def test_many(self, plan, waits, shares, fates):
        with self.settings(TARGET_HOSTS=frozenset({"127.0.0.1:9"})):
            carry_out(plan, waits, shares, fates)
