"""Is a plan carried out as it promised: to its end, or rolled back newest first, by those who may?"""

from decimal import Decimal
from typing import Any

import pytest

from audit.models import Record
from plans.core.gates import OverMandateError
from plans.core.lifecycle import ExecutionStateError
from plans.models import Decision
from plans.policies import ForAgentsOnlyError
from plans.services.complete import EffectsMissingError, StepNotRunningError, complete
from plans.services.decide import (
    decline,
)
from plans.services.rollback import PivotCrossedError, PivotRunningError
from plans.services.start import PlanExpiredError, PlanNotAcceptedError, start
from plans.services.stop import PivotNotCrossedError, stop
from sideeffects import actors
from sideeffects.models import Effect, Group, Revocation
from sideeffects.policies import (
    ForPersonsOnlyError,
    NotFoundError,
    ReadOnlyError,
    ReasonRequiredError,
    ScopeMissingError,
    check_agent_cap,
)
from sideeffects.services.land import DeclarationConflictError
from sideeffects.services.record import Status
from tests import factories
from tests.executions import Run, askable, proposed, seconds, six, states, step, undone, written
from tests.factories import NOW, person, planner

pytestmark = pytest.mark.django_db
BEAT = actors.system("beat")


@pytest.mark.both
def test_a_plan_runs_to_its_end_and_the_log_tells_it():
    run = Run()
    run.until_pivot()
    run.begin("s5", 20)
    run.complete("s5", 21, [], spent=Decimal(50))
    course = run.do("s6", 30)
    assert course.row.state == "finished"
    assert states(run) == dict.fromkeys(("s1", "s2", "s3", "s4", "s5", "s6"), "completed")
    group = Group.objects.get(step="s1")
    assert (group.execution, group.tool, group.owner.username) == (str(run.id), "crm.create_contact", "alice")
    assert Effect.objects.get(group=group).undo_expires_at == seconds(780)
    kinds = list(
        Record.objects.filter(action__regex="^(execution|step|approval)")
        .order_by("id")
        .values_list("action", flat=True)
    )
    assert kinds[:4] == ["execution_started", "step_begun", "step_completed", "step_begun"]
    assert kinds.count("approval_given") == 1
    assert kinds[-2:] == ["step_completed", "execution_ended"]
    assert not Record.objects.filter(action="step_refused").exists()


@pytest.mark.both
def test_what_fails_before_the_pivot_is_rolled_back_newest_first_inside_its_windows(settings):
    askable(settings)
    run = Run()
    run.do("s1", 0, 60)
    run.do("s2", 60, 120)
    run.begin("s3", 120)
    run.approve("s3", 720)
    run.begin("s4", 720)
    course = run.fail("s4", 780)  # the last instant at which everything was promised
    assert course.row.state == "rolled_back"
    assert undone(run) == {"s3": "nothing to undo", "s2": "not sent", "s1": "not sent"}
    asked = Revocation.objects.order_by("id")
    assert [(one.group.step, one.trigger, one.authority) for one in asked] == [
        ("s2", "rollback", "agent"),
        ("s1", "rollback", "agent"),
    ]
    assert set(Effect.objects.values_list("state", flat=True)) == {"requesting"}
    with pytest.raises(ExecutionStateError):
        run.begin("s4", 781)
    assert run.fail("s4", 790).row.state == "rolled_back"  # said twice, done once
    assert len(written("rollback_asked")) == 1


def test_past_a_window_an_agent_asks_nothing_and_an_admin_still_may(settings):
    askable(settings)
    run = Run()
    run.do("s1", 0)
    run.do("s2", 2)
    run.rollback(781)
    assert undone(run) == {"s2": "not sent", "s1": "not attempted"}
    assert "undo window is over" in run.course.runs[0].undone_detail
    run.rollback(790, who="admin", reason="the CRM agreed by phone")
    assert undone(run) == {"s2": "not sent", "s1": "not sent"}
    assert [one["authority"] for one in written("rollback_asked")] == ["owner", "admin"]


def test_a_rollback_said_twice_stays_with_whoever_asked_first(settings):
    askable(settings)
    run = Run()
    run.do("s1", 0)
    run.begin("s2", 2)
    kept = ("state", "rollback_at", "rollback_by", "rollback_reason", "ended_at")
    for at in (5, 20):
        first = run.rollback(at, reason="wrong customer").row
        again = run.rollback(at + 5, who="admin", reason="mine").row
        assert [getattr(again, name) for name in kept] == [getattr(first, name) for name in kept]
        assert first.rollback_by == "user:alice"
        if at == 5:
            run.complete("s2", 15)
    assert (first.state, first.rollback_at, first.ended_at) == ("rolled_back", seconds(5), seconds(15))
    assert len(written("rollback_asked")) == 1


def test_only_an_accepted_plan_starts_and_only_once_at_a_time():
    by = planner()
    plan = proposed(by=by)
    first, new = start(plan=plan.pk, by=by, now=NOW)
    again, also = start(plan=plan.pk, by=by, now=seconds(5))
    assert (first.pk == again.pk, new, also) == (True, True, False)
    refused = proposed(step("x", "y"), by=by)
    with pytest.raises(PlanNotAcceptedError):
        start(plan=refused.pk, by=by, now=NOW)
    other = proposed(six() | {"sagaId": "sg_2"}, by=by)
    for now, expected in (("2027-01-31T00:00:00Z", PlanExpiredError), ("2027-01-30T23:59:59Z", None)):
        moment = NOW.fromisoformat(now)
        if expected:
            with pytest.raises(expected):
                start(plan=other.pk, by=by, now=moment)
        else:
            assert start(plan=other.pk, by=by, now=moment)[1]


def test_who_may_carry_out_decide_and_roll_back():
    run = Run()
    plan = run.plan.pk
    for by, refusal in (
        (person("alice"), ForAgentsOnlyError),
        (person("bob"), NotFoundError),
        (planner("bob"), NotFoundError),
        (planner(agent="other"), NotFoundError),
        (planner(scopes=["propose", "record"]), ScopeMissingError),
    ):
        with pytest.raises(refusal):
            start(plan=plan, by=by, now=NOW)
        stranger = Run.__new__(Run)
        stranger.id, stranger.by = run.id, by
        with pytest.raises(refusal):
            stranger.begin("s1", 0)
    run.do("s1", 0)
    run.do("s2", 2)
    run.begin("s3", 4)
    for who, unfit in (("bob", NotFoundError), ("auditor", ReadOnlyError), ("admin", ReasonRequiredError)):
        with pytest.raises(unfit):
            run.approve("s3", 5, who=who)
        with pytest.raises(unfit):
            run.rollback(5, who=who)
    with pytest.raises(ForPersonsOnlyError):
        decline(execution=run.id, step="s3", reason="", by=run.by, now=seconds(5))
    run.approve("s3", 5, who="admin", reason="alice is away")
    assert Decision.objects.get().authority == "admin"


def test_execute_alone_is_enough_for_an_agent_to_run_and_roll_back(settings):
    askable(settings)
    by = planner(scopes=["propose", "execute"])
    settings.AGENT_REVOKES_PER_HOUR = 0  # a promise is no revoke of its own accord
    run = Run(by=by)
    run.do("s1", 0)
    run.begin("s2", 2)
    run.fail("s2", 3)
    assert undone(run) == {"s1": "not sent"}
    settings.AGENT_REVOKES_PER_HOUR = 1
    check_agent_cap(by, more=1, now=seconds(4))  # nor does it use up what the agent may


# -- What a step wrote ----------------------------------------------------------------------------------------------


def test_a_repeat_is_a_replay_and_a_differing_one_a_conflict():
    run = Run()
    run.do("s1", 0)
    run.complete("s1", 2)
    with pytest.raises(DeclarationConflictError):
        run.complete("s1", 3, [factories.contact("another")])
    assert Group.objects.filter(execution=str(run.id)).count() == 1
    assert len(written("step_completed")) == 1
    with pytest.raises(StepNotRunningError):
        run.complete("s2", 3)


def test_a_call_that_ran_under_the_step_s_key_is_taken_as_the_step():
    plan = six()
    plan["steps"][0]["tool"] = "project.create"
    run = Run(plan)
    course = run.begin("s1", 0)
    key = course.key(course.script.steps[0])
    assert key == f"{run.id}:sg_six:s1"
    with pytest.raises(EffectsMissingError):
        complete(execution=run.id, step="s1", by=run.by, now=seconds(1))
    group = factories.project(run.by, tasks=2, idempotency_key=key, execution=str(run.id), step="s1")
    complete(execution=run.id, step="s1", by=run.by, now=seconds(1))
    assert run.course.runs[0].group_id == group.pk
    run.rollback(3)
    assert undone(run) == {"s1": "revoked"}
    assert set(Effect.objects.filter(group=group).values_list("state", flat=True)) == {"revoked"}


def test_a_call_announced_under_the_step_s_key_lands_with_the_step_and_fails_with_it():
    run = Run()
    course = run.begin("s1", 0)
    call: dict[str, Any] = {
        "execution": str(run.id),
        "step": "s1",
        "idempotency_key": course.key(course.script.steps[0]),
    }
    factories.report(run.by, [], status=Status.IN_FLIGHT, arguments={"name": "Ada"}, **call)
    run.complete("s1", 1)
    assert Group.objects.get(step="s1").state == "landed"
    course = run.begin("s2", 2)
    call |= {"step": "s2", "idempotency_key": course.key(course.script.steps[1])}
    factories.report(run.by, [], status=Status.IN_FLIGHT, arguments={"name": "Bo"}, **call)
    run.fail("s2", 3)
    assert Group.objects.get(step="s2").state == "failed"


def test_what_lands_after_the_rollback_began_is_taken_back_at_once(settings):
    askable(settings)
    run = Run()
    run.do("s1", 0)
    run.begin("s2", 2)
    course = run.rollback(3)
    assert course.row.state == "rolling_back"
    assert undone(run) == {"s1": "not sent"}
    course = run.complete("s2", 4)
    assert course.row.state == "rolled_back"
    assert undone(run) == {"s2": "not sent", "s1": "not sent"}


def test_after_the_pivot_there_is_no_rollback():
    run = Run()
    run.until_pivot()
    run.begin("s5", 20)
    with pytest.raises(PivotRunningError):
        run.rollback(21)
    run.complete("s5", 22, [])
    with pytest.raises(PivotCrossedError):
        run.rollback(23)
    run.begin("s6", 24)
    run.fail("s6", 25)
    assert run.row.state == "running"  # retriable: it may begin again
    run.begin("s6", 26)
    assert not Revocation.objects.exists()


def test_what_cannot_go_on_after_the_pivot_is_stopped_by_a_person_or_its_agent():
    for who in ("alice", "agent"):
        run = Run(six() | {"sagaId": who})
        by = person("alice") if who == "alice" else run.by
        run.until_pivot()
        with pytest.raises(PivotNotCrossedError):
            stop(execution=run.id, reason="", by=by, now=seconds(19))
        run.begin("s5", 20)
        run.complete("s5", 21, [], spent=Decimal(10) ** 12)
        with pytest.raises(OverMandateError) as refused:
            run.begin("s6", 30)
        assert str(refused.value).startswith("The mandate of 100 EUR is overspent by 999999999930 EUR, so s6 may not")
        for at in (40, 50):  # said twice, stopped once
            row = stop(execution=run.id, reason="overspent", by=by, now=seconds(at)).row
            assert (row.state, row.ended_at) == ("stopped", seconds(40))
        with pytest.raises(ExecutionStateError):
            run.begin("s6", 60)
    assert [(one["authority"], one["step"]) for one in written("stop_asked")] == [("owner", "s6"), ("agent", "s6")]
    assert Record.objects.filter(action="execution_ended").count() == 2
    assert not Revocation.objects.exists()


def test_a_pivot_that_failed_was_not_crossed(settings):
    askable(settings)
    run = Run()
    run.until_pivot()
    run.begin("s5", 20)
    assert run.fail("s5", 22).row.state == "rolled_back"
    assert undone(run)["s1"] == "not sent"
