"""Is what a person decides bound to the bytes and the time it was asked about (P6, P7)?"""

import pytest

from plans.core.gates import AlreadyBegunError
from plans.courses import PlanChangedError
from plans.models import Decision, Execution, PlanSubmission
from plans.services.complete import StepForPersonError
from plans.services.decide import (
    AlreadyDecidedError,
    ApprovalSupersededError,
    DeadlinePassedError,
    NotWaitingError,
    decline,
)
from plans.services.sweep import sweep
from sideeffects import actors
from sideeffects.models import Notice, Revocation
from tests.executions import Run, askable, proposed, seconds, six, states, undone, written
from tests.factories import person

pytestmark = pytest.mark.django_db
BEAT = actors.system("beat")


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
