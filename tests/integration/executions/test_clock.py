"""Do gates, deadlines and mandates hold by the server's clock alone, and does beat find what is late?"""

from decimal import Decimal

import pytest
from django.db import transaction

from plans.core.gates import GateClosedError, MandateExpiredError, OverMandateError, StepOverdueError
from plans.models import StepRun
from plans.services.decide import (
    DeadlinePassedError,
)
from plans.services.rollback import carry_on
from plans.services.sweep import sweep
from sideeffects import actors
from sideeffects.models import Effect, Notice, Revocation
from tests.executions import Run, askable, seconds, six, written
from tests.factories import NOW

pytestmark = pytest.mark.django_db
BEAT = actors.system("beat")


def test_the_mandate_is_reserved_at_begin_and_settled_by_what_was_spent():
    plan = six()
    plan["steps"][4]["maxSpendEur"] = 70
    run = Run(plan)
    run.until_pivot()
    StepRun.objects.filter(index=0).update(spent=Decimal("10.01"))  # it spent a cent more than it may
    with pytest.raises(OverMandateError) as refused:
        run.begin("s5", 20)
    assert "69.99" in str(refused.value)
    StepRun.objects.filter(index=0).update(spent=Decimal(10))
    run.begin("s5", 20)
    assert run.course.runs[4].reserved == 70


def test_an_earlier_execution_has_spent_what_was_not_taken_back(settings):
    plan = six()
    plan["mandate"]["maxSpendEur"] = 85
    run = Run(plan)
    run.do("s1", 0)
    run.rollback(5)  # no admin has registered the CRM: the contact stands
    again = Run(plan, by=run.by, at=10)
    assert again.id != run.id
    again.until_pivot(20)
    with pytest.raises(OverMandateError):
        again.begin("s5", 40)
    Effect.objects.filter(group=run.course.runs[0].group).update(state="compensated")
    again.begin("s5", 40)


@pytest.mark.parametrize("beat", [True, False], ids=["beat", "no beat"])
def test_the_clock_decides_whether_beat_runs_or_not(beat):
    run = Run()
    run.do("s1", 0, 60)
    if beat:
        for at in range(100, 800, 200):
            sweep(by=BEAT, now=seconds(at))
    run.begin("s2", 60)
    run.complete("s2", 120)
    with pytest.raises(GateClosedError) as refused:
        run.begin("s3", 121)
    assert (refused.value.window, refused.value.closes_at) == ("s1", seconds(780))
    run.begin("s3", 120)
    with pytest.raises(DeadlinePassedError):
        run.approve("s3", 721)
    run.approve("s3", 720)


def test_expiry_is_the_server_s_clock():
    run = Run()
    for at, ok in (("2027-01-30T23:59:59Z", True), ("2027-01-31T00:00:00Z", False)):
        moment = (NOW.fromisoformat(at) - NOW).total_seconds()
        if ok:
            with transaction.atomic():
                run.begin("s1", moment)
                transaction.set_rollback(True)
        else:
            with pytest.raises(MandateExpiredError):
                run.begin("s1", moment)


def test_a_step_that_took_too_long_is_recorded_and_blocks():
    run = Run()
    run.begin("s1", 0)
    run.complete("s1", 61)
    assert written("step_completed")[0]["late"] == "true"
    for _ in range(3):
        with pytest.raises(StepOverdueError, match="at most 1 min and has taken 1 min 1 s") as refused:
            run.begin("s2", 62)
    assert (refused.value.window, refused.value.closes_at) == ("s1", seconds(780))
    [told] = written("step_refused")  # once, however often it is asked
    assert (told["refusal"], told["window"], told["step"]) == ("step-overdue", "s1", "s2")


def test_what_happened_at_a_later_time_than_the_clock_says_now_stays_so():
    run = Run()
    run.do("s1", 100, 110)
    course = run.begin("s2", 5)  # the clock was put back
    assert course.runs[1].begun_at == seconds(110)
    assert run.complete("s2", 6).runs[1].ended_at == seconds(110)


# -- Beat -----------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_beat_flags_what_is_perishing_and_what_is_unrecoverable_once():
    run = Run()
    run.do("s1", 0)
    closing = 780 - 780 // 4
    assert sweep(by=BEAT, now=seconds(closing - 1)) == 0
    assert sweep(by=BEAT, now=seconds(closing)) == 1
    assert sweep(by=BEAT, now=seconds(closing + 1)) == 0
    assert run.row.perishing_since == seconds(closing)
    assert sweep(by=BEAT, now=seconds(780)) == 0
    assert [sweep(by=BEAT, now=seconds(781)) for _ in range(3)] == [1, 0, 0]
    assert run.row.unrecoverable_since == seconds(780)
    assert [one.kind for one in Notice.objects.order_by("id")] == ["perishing", "unrecoverable"]
    assert len(written("execution_perishing")) == len(written("execution_unrecoverable")) == 1


def test_after_two_days_without_beat_the_first_run_finds_all_of_it():
    run = Run()
    run.do("s1", 0)
    assert sweep(by=BEAT, now=seconds(2 * 86_400)) == 2
    assert (run.row.perishing_since, run.row.unrecoverable_since) == (seconds(585), seconds(780))
    other = Run(six() | {"sagaId": "sg_2"}, by=run.by)
    other.until_pivot()
    other.begin("s5", 20)
    assert sweep(by=BEAT, now=seconds(2 * 86_400)) == 0


def test_a_rollback_that_was_interrupted_goes_on_by_beat(settings, monkeypatch):
    askable(settings)
    run = Run()
    run.do("s1", 0)
    run.do("s2", 2)
    with monkeypatch.context() as patch:
        patch.setattr("plans.services.rollback._settled", lambda *_args, **_more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.rollback(5)
    assert run.row.state == "rolling_back"
    sweep(by=BEAT, now=seconds(6))
    assert run.row.state == "rolled_back"
    assert Revocation.objects.count() == 2
    carry_on(execution=run.id, by=BEAT, now=seconds(7))
    assert Revocation.objects.count() == 2
