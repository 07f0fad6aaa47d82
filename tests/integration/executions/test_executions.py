"""Is a plan carried out as it promised: gated by the clock, recorded as actions, rolled back newest first?"""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction

from audit.models import Record
from plans.core.gates import AlreadyBegunError, GateClosedError, MandateExpiredError, OverMandateError, StepOverdueError
from plans.core.lifecycle import ExecutionStateError
from plans.courses import PlanChangedError
from plans.models import Decision, Execution, PlanSubmission, StepRun
from plans.policies import ForAgentsOnlyError
from plans.services.complete import EffectsMissingError, StepForPersonError, StepNotRunningError, complete
from plans.services.decide import (
    AlreadyDecidedError,
    ApprovalSupersededError,
    DeadlinePassedError,
    NotWaitingError,
    decline,
)
from plans.services.rollback import PivotCrossedError, PivotRunningError, carry_on
from plans.services.start import PlanExpiredError, PlanNotAcceptedError, start
from plans.services.stop import PivotNotCrossedError, stop
from plans.services.sweep import sweep
from sideeffects import actors
from sideeffects.models import Effect, Group, Notice, Revocation
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
from tests import external, factories
from tests.executions import Run, proposed, seconds, six, states, step, undone
from tests.factories import NOW, person, planner

pytestmark = pytest.mark.django_db
BEAT = actors.system("beat")


def written(action: str) -> list[dict[str, Any]]:
    return [json.loads(row.body)["data"] for row in Record.objects.filter(action=action).order_by("id")]


def askable(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")


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


# -- Gates, by the clock alone ------------------------------------------------------------------------------------


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


# -- P6, P7: approvals ---------------------------------------------------------------------------------------------


def waiting() -> Run:
    run = Run()
    run.do("s1", 0)
    run.do("s2", 2)
    run.begin("s3", 4)
    return run


def test_an_approval_after_its_deadline_is_refused_by_the_clock():  # P7
    run = waiting()
    with pytest.raises(DeadlinePassedError) as late:
        run.approve("s3", 605)
    assert (late.value.deadline, late.value.window) == (seconds(604), "s1")
    assert "Roll back now" in str(late.value)
    assert not Decision.objects.exists()
    assert states(run)["s3"] == "begun"
    run.approve("s3", 604)


@pytest.mark.parametrize("what", ["digest", "step", "row", "bytes"])
def test_an_approval_holds_for_the_bytes_it_was_asked_about_and_no_others(what):  # P6
    run = waiting()
    changed = six()
    changed["steps"][3]["maxDurationSeconds"] = 59
    other = proposed(changed, by=run.by)
    if what == "digest":
        with pytest.raises(PlanChangedError) as refused:
            run.approve("s3", 5, digest=other.digest)
    elif what == "step":
        run.approve("s3", 5)
        with pytest.raises(PlanChangedError) as refused:
            run.begin("s4", 6, presented=changed["steps"][3])
    else:
        run.approve("s3", 5)
        if what == "row":
            Execution.objects.filter(pk=run.id).update(digest=other.digest)
        else:
            PlanSubmission.objects.filter(pk=run.plan.pk).update(body=other.body)
        with pytest.raises(PlanChangedError) as refused:
            run.begin("s4", 6)
    assert refused.value.digest != refused.value.presented
    told = written("step_refused")[-1]
    assert (told["digest"], told["presented"]) == (refused.value.digest, refused.value.presented)
    assert "s4" not in states(run)


def test_nobody_approves_past_the_mandate_s_end():
    plan = six()
    del plan["steps"][2]["maxDurationSeconds"]
    plan["steps"] = [plan["steps"][2] | {"id": "s3", "class": "retriable"}, plan["steps"][5]]
    for name in ("compensation", "undoTtlSeconds"):
        del plan["steps"][0][name]
    plan |= {"pivotIndex": 0, "mandate": {"maxSpendEur": 0, "expiresAt": (seconds(60)).isoformat()}}
    run = Run(plan)
    assert run.begin("s3", 0).runs[0].approval.deadline == seconds(60)
    with pytest.raises(DeadlinePassedError):
        run.approve("s3", 60)
    run.approve("s3", 59)


def test_a_plan_that_cannot_be_read_any_more_has_changed():
    run = Run()
    run.do("s1", 0)
    PlanSubmission.objects.filter(pk=run.plan.pk).update(body=b"{}")
    with pytest.raises(PlanChangedError):
        run.begin("s2", 2)
    other = Run(six() | {"sagaId": "sg_2"}, by=run.by)
    other.do("s1", 0)
    with pytest.raises(PlanChangedError):
        sweep(by=BEAT, now=seconds(700))
    assert other.row.perishing_since == seconds(585)  # the others are not kept by it


def test_asking_anew_is_a_new_approval():
    plan = six()
    plan["steps"][0]["undoTtlSeconds"] = 3600
    run = Run(plan)
    run.do("s1", 0)
    run.do("s2", 2)
    first = run.begin("s3", 4).runs[2].approval
    with pytest.raises(AlreadyBegunError):
        run.begin("s3", 604)
    second = run.begin("s3", 605).runs[2]
    assert (second.attempt, second.due_at, second.approval.pk != first.pk) == (2, seconds(1205), True)
    with pytest.raises(ApprovalSupersededError):
        run.approve("s3", 606, approval=first.pk)
    run.approve("s3", 1205, approval=second.approval.pk)
    run.approve("s3", 1300)  # said twice, decided once
    with pytest.raises(AlreadyDecidedError):
        decline(execution=run.id, step="s3", reason="", by=person("alice"), now=seconds(1206))
    assert len(written("approval_asked")) == 2
    assert Notice.objects.filter(kind="approval").count() == 2


def test_declining_rolls_back_in_the_person_s_name(settings):
    askable(settings)
    run = waiting()
    course = decline(execution=run.id, step="s3", reason="too dear", by=person("alice"), now=seconds(9))
    assert (course.row.state, course.row.rollback_by) == ("rolled_back", "user:alice")
    assert undone(run) == {"s2": "not sent", "s1": "not sent"}
    assert {one.authority for one in Revocation.objects.all()} == {"owner"}
    with pytest.raises(NotWaitingError):
        run.approve("s1", 10)


def test_only_a_person_completes_a_person_s_step():
    run = waiting()
    with pytest.raises(StepForPersonError):
        run.complete("s3", 5)
    assert run.rollback(6).row.state == "rolled_back"
    with pytest.raises(NotWaitingError):
        run.approve("s3", 7)


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
