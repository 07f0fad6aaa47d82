"""Take the agent's word that a step failed: before the pivot everything is rolled back, newest first."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses, policies
from plans.core import lifecycle, windows
from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState, Step
from plans.courses import Course
from plans.models import StepRun
from plans.services.complete import StepNotRunningError, call_of, ended, known_of
from plans.services.entries import entry, of_step
from plans.services.rollback import ask, carry_on
from sideeffects.actors import Actor
from sideeffects.policies import Authority
from sideeffects.services import land
from sideeffects.transitions import GroupState


def fail(*, execution: UUID, step: str, reason: str, by: Actor, now: datetime, spent: Decimal | None = None) -> Course:
    """Fail a running step and, up to the pivot, roll back; repeated, a rollback that was interrupted goes on.

    Raises NotFoundError, ForAgentsOnlyError, ScopeMissingError, StepNotRunningError. Writes `step_failed` and what
    `rollback` writes, or `execution_ended` where nothing can go on after the pivot.
    """
    with transaction.atomic():
        course = courses.locked(execution)
        policies.check_may_carry_out(by, course.row)
        wanted = course.step(step)
        run = course.runs.get(wanted.index)
        if run is None or run.state not in {RunState.BEGUN, RunState.FAILED}:
            raise StepNotRunningError(wanted, run)
        if run.state == RunState.BEGUN:
            _failed(course, wanted, run, reason=reason, spent=spent, by=by, now=now)
    return carry_on(execution=execution, by=by, now=now)


def _failed(
    course: Course, step: Step, run: StepRun, *, reason: str, spent: Decimal | None, by: Actor, now: datetime
) -> None:
    known = None if run.human else known_of(call_of(course, step, {}), owner=course.row.owner, by=by)
    if known is not None and known.state == GroupState.OPEN and known.source != known.Source.EXECUTED:
        land.end(known, "fail", reason=reason, by=by, now=now)
    elif known is not None and known.state == GroupState.LANDED:
        run.group = known  # it wrote something before it failed, so that is taken back too
    run.state, run.ended_at, run.ended_by = RunState.FAILED, windows.moment(course.ran, now), str(by.party)
    run.reason, run.spent = reason[:1000], spent
    run.save(update_fields=["state", "ended_at", "ended_by", "reason", "spent", "group"])
    entries = [entry("step_failed", course, {**of_step(step, run), "reason": reason}, by=by)]
    entries += turned(course, step, authority=Authority.AGENT, reason=f"{run.step} failed", by=by, now=now)
    log.append(entries, now=now)


def turned(
    course: Course, step: Step, *, authority: Authority, reason: str, by: Actor, now: datetime
) -> list[log.Entry]:
    """Turn a running execution round where a step was not done; past the pivot stop what cannot go on."""
    if course.state is not ExecutionState.RUNNING:
        return []
    if step.index <= course.script.pivot:
        return [ask(course, authority=authority, reason=reason, by=by, now=now)]
    if step.kind == "retriable" and course.runs[step.index].state == RunState.FAILED:
        return []
    course.row.state, course.row.ended_at = lifecycle.after(course.state, "stop"), now
    course.row.save(update_fields=["state", "ended_at"])
    return [ended(course, by=by)]
