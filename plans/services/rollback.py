"""Roll an execution back: newest step first, each in a transaction of its own, going on where it was interrupted."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses, policies
from plans.core import lifecycle, windows
from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState
from plans.core.words import inert
from plans.courses import Course
from plans.models import StepRun
from plans.services.entries import entry, of_step
from sideeffects import actors
from sideeffects.actors import Actor
from sideeffects.policies import Authority
from sideeffects.services.answers import Result
from sideeffects.services.refuse import name_of
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import NothingWrittenError, NotRevocableError, TargetsOutOfReachError, revoke
from sideeffects.targets.local import MembersFailedError
from sideeffects.transitions import Outcome

NOTHING = "nothing to undo"
REFUSED = "not let through"
# What asking once more may change.
AGAIN = frozenset({Outcome.FAILED.value, Outcome.NOT_ATTEMPTED.value, Outcome.SKIPPED.value, REFUSED})
_OUTCOMES = {
    NotRevocableError: Outcome.NOT_REVOCABLE.value,
    NothingWrittenError: NOTHING,
    TargetsOutOfReachError: Outcome.NOT_ATTEMPTED.value,
    MembersFailedError: Outcome.FAILED.value,
}


class PivotCrossedError(Exception):
    """After the pivot there is no rollback, only what each effect's own class allows."""

    def __init__(self, course: Course) -> None:
        self.execution, self.pivot = str(course.row.pk), inert(course.script.steps[course.script.pivot].id)
        super().__init__(
            f"The pivot {self.pivot} is completed: there is no rollback any more. What stands can be taken back action "
            "by action, as far as each one's class allows."
        )


class PivotRunningError(Exception):
    """Whether the line is crossed is not known yet."""

    def __init__(self, course: Course) -> None:
        self.execution, self.pivot = str(course.row.pk), inert(course.script.steps[course.script.pivot].id)
        super().__init__(f"The pivot {self.pivot} is running: whether there is a way back is known when it has ended.")


def rollback(*, execution: UUID, reason: str, by: Actor, now: datetime) -> Course:
    """Roll an execution back, or go on with it; return how it stands.

    Said twice it changes nothing: it stays with whoever asked first, unless something is to be tried again.
    Raises NotFoundError, ForAgentsOnlyError, ScopeMissingError, ReadOnlyError, ReasonRequiredError, PivotCrossedError,
    PivotRunningError, ExecutionStateError. Writes `rollback_asked`, then `COMPENSATE` and `step_undone` for each step,
    and `execution_ended`.
    """
    reason = reason.strip()
    with transaction.atomic():
        course = courses.locked(execution)
        authority = policies.check_may_roll_back(by, course.row, reason=reason)
        check_before_pivot(course)
        if not _is_repeat(course):
            log.append([ask(course, authority=authority, reason=reason, by=by, now=now)], now=now)
    return carry_on(execution=execution, by=by, now=now)


def _is_repeat(course: Course) -> bool:
    """Say whether a rollback was asked for before and asking once more could change nothing."""
    asked = course.state in {ExecutionState.ROLLING_BACK, ExecutionState.ROLLED_BACK}
    return asked and not any(run.undone in AGAIN for run in course.runs.values())


def check_before_pivot(course: Course) -> None:
    """Let through while there is a way back; raises PivotCrossedError, PivotRunningError."""
    if course.pivot_crossed:
        raise PivotCrossedError(course)
    pivot = course.runs.get(course.script.pivot)
    if pivot is not None and pivot.state == RunState.BEGUN and not pivot.human:
        raise PivotRunningError(course)


def ask(course: Course, *, authority: Authority, reason: str, by: Actor, now: datetime) -> log.Entry:
    """Turn a locked execution round, in the caller's transaction; return what stands on the log of it.

    What waits for a person waits no more. What could not be undone before is tried again.
    """
    row = course.row
    row.state = lifecycle.after(course.state, "roll_back")
    row.rollback_at, row.rollback_by, row.rollback_reason = now, str(by.party), reason[:1000]
    row.rollback_user, row.rollback_token = by.user, by.token
    row.ended_at, row.watch_at = None, None
    row.save()
    at = windows.moment(course.ran, now)
    for run in course.runs.values():
        if run.human and run.state == RunState.BEGUN:
            run.state, run.ended_at, run.ended_by = RunState.WITHDRAWN, at, str(by.party)
            run.save(update_fields=["state", "ended_at", "ended_by"])
        if run.undone in AGAIN:
            run.undone_at, run.undone, run.undone_detail = None, "", ""
            run.save(update_fields=["undone_at", "undone", "undone_detail"])
    completed = sum(run.state == RunState.COMPLETED for run in course.runs.values())
    data = {"authority": authority.value, "reason": reason, "steps": str(completed)}
    return entry("rollback_asked", course, data, by=by)


def carry_on(*, execution: UUID, by: Actor, now: datetime) -> Course:
    """Undo what is left of an execution that is being rolled back, as who asked for it; repeated, it does nothing.

    `by` is who has it go on: whoever asked, or the system. Writes `COMPENSATE`, `step_undone`, `execution_ended`.
    """
    while True:
        with transaction.atomic():
            course = courses.locked(execution)
            left = [run for run in course.runs.values() if is_left(run)]
            if course.state is not ExecutionState.ROLLING_BACK:
                return course
            if not left:
                return _settled(course, by=by, now=now)
            _undo(course, max(left, key=lambda run: run.index), now=now)


def is_left(run: StepRun) -> bool:
    """Say whether something of a step is still to be undone."""
    return run.undone_at is None and (run.state == RunState.COMPLETED or run.group_id is not None)


def _settled(course: Course, *, by: Actor, now: datetime) -> Course:
    """End the rollback, unless a step is still running: what it writes is taken back when it reports."""
    if not any(run.state == RunState.BEGUN for run in course.runs.values()):
        course.row.state, course.row.ended_at = lifecycle.after(course.state, "settle"), now
        course.row.save(update_fields=["state", "ended_at"])
        data = {"saga": inert(course.script.saga)}
        log.append([entry("execution_ended", course, data, by=_asker(course, by), outcome="rolled back")], now=now)
    return course


def _undo(course: Course, run: StepRun, *, now: datetime) -> None:
    by = _asker(course, None)
    run.undone, run.undone_detail = NOTHING, ""
    if run.group_id is not None:
        reason = course.row.rollback_reason
        [result] = revoke(groups=[run.group_id], by=by, now=now, reason=reason, trigger=Trigger.ROLLBACK)
        run.undone, run.undone_detail = _came_to(result)
    run.undone_at = now
    run.save(update_fields=["undone_at", "undone", "undone_detail"])
    step = course.script.steps[run.index]
    data = {**of_step(step, run), "group": str(run.group_id or ""), "detail": run.undone_detail}
    group = str(run.group_id or "")
    log.append([entry("step_undone", course, data, by=by, outcome=run.undone, group=group)], now=now)


def _came_to(result: Result) -> tuple[str, str]:
    if result.answer is not None:
        details = dict.fromkeys(member.detail for member in result.answer.members if member.detail)
        return result.answer.outcome.value, "; ".join(details)[:500]
    assert result.refusal is not None
    outcome = next((word for kind, word in _OUTCOMES.items() if isinstance(result.refusal, kind)), REFUSED)
    return outcome, f"{name_of(result.refusal)}: {result.refusal}"[:500]


def _asker(course: Course, by: Actor | None) -> Actor:
    """Return who asked for the rollback: it goes on in their name, whoever has it go on."""
    row = course.row
    if row.rollback_token is not None:
        return actors.agent(row.rollback_token)
    return actors.person(row.rollback_user) if row.rollback_user is not None else by or actors.system("beat")
