"""Approve or decline a step that waits for a person: before its deadline, and for exactly what was asked."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses, policies
from plans.core import windows
from plans.core.lifecycle import ExecutionState, ExecutionStateError
from plans.core.script import RunState, Step
from plans.core.words import inert
from plans.courses import Course, PlanChangedError
from plans.models import Approval, Decision, StepRun
from plans.services.begin import bound
from plans.services.complete import finished
from plans.services.entries import entry, log_refused, of_step
from plans.services.fail import turned
from plans.services.rollback import carry_on
from sideeffects.actors import Actor
from sideeffects.policies import Authority

Verdict = Decision.Verdict


class NotWaitingError(Exception):
    """The step does not wait for a person."""

    def __init__(self, step: Step) -> None:
        self.step = inert(step.id)
        super().__init__(f"{self.step} does not wait for a person's decision.")


class AlreadyDecidedError(Exception):
    """A person has decided otherwise already."""

    def __init__(self, step: Step, decision: Decision) -> None:
        self.step, self.decision, self.decided_at = inert(step.id), decision.verdict, decision.decided_at
        super().__init__(f"{self.step} was {decision.verdict} already.")


class ApprovalSupersededError(Exception):
    """The agent has asked anew since: another asking, with another deadline."""

    def __init__(self, step: Step, approval: Approval) -> None:
        self.step, self.approval = inert(step.id), str(approval.pk)
        super().__init__(f"{self.step} was asked anew since; look at the new asking and decide about that.")


class DeadlinePassedError(Exception):
    """The time to decide is over. `window` and `closes_at` name the undo window that closes next."""

    def __init__(self, step: Step, course: Course, deadline: datetime, now: datetime) -> None:
        self.step, self.deadline = inert(step.id), deadline
        window = windows.next_to_close(course.script, course.ran, now)
        self.window = inert(window.step.id) if window else None
        self.closes_at = window.closes_at if window else None
        closing = f" The undo window of {self.window} closes at {_at(window.closes_at)}." if window else ""
        super().__init__(f"The time to decide about {self.step} ended at {_at(deadline)}.{closing} Roll back now.")


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def approve(
    *, execution: UUID, step: str, reason: str, by: Actor, now: datetime,
    approval: UUID | None = None, digest: str = "", sha256: str = "",
) -> Course:  # fmt: skip
    """Approve a step; it is completed with that. `approval`, `digest` and `sha256`: what the person had before them.

    Raises NotFoundError, ForPersonsOnlyError, ReadOnlyError, ReasonRequiredError, ExecutionStateError, NotWaitingError,
    AlreadyDecidedError, ApprovalSupersededError, DeadlinePassedError, PlanChangedError. Writes `approval_given`, or
    `step_refused`.
    """
    seen = (approval, digest, sha256)
    return _decide(Verdict.APPROVED, seen, execution=execution, step=step, reason=reason, by=by, now=now)


def decline(
    *, execution: UUID, step: str, reason: str, by: Actor, now: datetime,
    approval: UUID | None = None, digest: str = "", sha256: str = "",
) -> Course:  # fmt: skip
    """Decline a step, and up to the pivot roll back; raises as `approve`. Writes `approval_declined`."""
    seen = (approval, digest, sha256)
    return _decide(Verdict.DECLINED, seen, execution=execution, step=step, reason=reason, by=by, now=now)


def _decide(
    verdict: Verdict,
    seen: tuple[UUID | None, str, str],
    *,
    execution: UUID,
    step: str,
    reason: str,
    by: Actor,
    now: datetime,
) -> Course:
    reason = reason.strip()
    try:
        with transaction.atomic():
            course = courses.locked(execution)
            authority = policies.check_may_decide(by, course.row, reason=reason)
            wanted = course.step(step)
            run = _waiting(course, wanted)
            if not _is_repeat(wanted, run, verdict):
                _check_open(course, wanted, run, seen, now=now)
                _decided(course, wanted, run, verdict, authority=authority, reason=reason, by=by, now=now)
    except (DeadlinePassedError, PlanChangedError) as error:
        log_refused(error, execution=execution, by=by, now=now)
        raise
    return carry_on(execution=execution, by=by, now=now)


def _waiting(course: Course, step: Step) -> StepRun:
    run = course.runs.get(step.index)
    if run is None or not run.human or run.state in {RunState.WITHDRAWN, RunState.FAILED}:
        raise NotWaitingError(step)
    return run


def _is_repeat(step: Step, run: StepRun, verdict: Verdict) -> bool:
    decision = Decision.objects.filter(approval=run.approval).first()
    if decision is not None and decision.verdict != verdict:
        raise AlreadyDecidedError(step, decision)
    return decision is not None


def _check_open(course: Course, step: Step, run: StepRun, seen: tuple[UUID | None, str, str], *, now: datetime) -> None:
    approval = run.approval
    if course.state is not ExecutionState.RUNNING:
        raise ExecutionStateError(course.state, "decide")
    if seen[0] not in {None, approval.pk}:
        raise ApprovalSupersededError(step, approval)
    at = windows.moment(course.ran, now)
    if at > approval.deadline or at >= course.script.expires_at:
        raise DeadlinePassedError(step, course, approval.deadline, now)
    course.check_unchanged(step, digest=seen[1], sha256=seen[2])
    for is_bound, found in ((approval.digest, course.script.digest), (approval.step_sha256, step.sha256)):
        if is_bound != found:
            raise PlanChangedError(is_bound, found, step=inert(step.id))


def _decided(
    course: Course,
    step: Step,
    run: StepRun,
    verdict: Verdict,
    *,
    authority: Authority,
    reason: str,
    by: Actor,
    now: datetime,
) -> None:
    at = windows.moment(course.ran, now)
    Decision.objects.create(
        approval=run.approval,
        verdict=verdict,
        decided_at=at,
        decided_by=str(by.party),
        user=by.user,
        authority=authority,
        reason=reason[:1000],
    )
    approved = verdict == Verdict.APPROVED
    run.state = RunState.COMPLETED if approved else RunState.DECLINED
    run.ended_at, run.ended_by, run.reason = at, str(by.party), reason[:1000]
    run.save(update_fields=["state", "ended_at", "ended_by", "reason"])
    data = {**of_step(step, run), **bound(run.approval), "authority": authority.value, "reason": reason}
    told = entry("approval_given" if approved else "approval_declined", course, data, by=by, outcome=verdict.value)
    if approved:
        log.append([told, *finished(course, by=by, now=now)], now=now)
    else:
        why = reason or f"{run.step} was declined"
        log.append([told, *turned(course, step, authority=authority, reason=why, by=by, now=now)], now=now)
