"""Let a step begin, or say why not: the gate, answered by the clock; a person's step waits for a person instead."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses, policies
from plans.core import gates, windows
from plans.core.lifecycle import ExecutionState, ExecutionStateError
from plans.core.script import RunState, Step
from plans.core.words import inert
from plans.courses import Course, PlanChangedError
from plans.models import Approval, StepRun
from plans.services.entries import entry, log_refused, moment, of_step
from sideeffects.actors import Actor
from sideeffects.services.told import announce


def begin(
    *,
    execution: UUID,
    step: str,
    by: Actor,
    now: datetime,
    digest: str = "",
    presented: Mapping[str, Any] | None = None,
) -> Course:
    """Let a step begin and reserve what it may spend; whoever asks first carries it out.

    `digest` and `presented` are the plan's digest and the step as the agent holds them, where it says so. Raises
    NotFoundError, ForAgentsOnlyError, ScopeMissingError, ExecutionStateError, PlanChangedError, GateClosedError.
    Writes `step_begun` and, where a person is asked, `approval_asked`; or `step_refused`, once.
    """
    try:
        with transaction.atomic():
            course = courses.locked(execution)
            policies.check_may_carry_out(by, course.row)
            wanted = course.step(step)
            course.check_unchanged(wanted, digest=digest, sha256=courses.presented(presented))
            if course.state is not ExecutionState.RUNNING:
                raise ExecutionStateError(course.state, "begin_a_step")
            gates.check_begin(course.script, course.ran, wanted, now=now, elsewhere=course.elsewhere)
            return _begun(course, wanted, by=by, now=now)
    except (gates.GateClosedError, PlanChangedError) as error:
        log_refused(error, execution=execution, by=by, now=now)
        raise


def _begun(course: Course, step: Step, *, by: Actor, now: datetime) -> Course:
    at = windows.moment(course.ran, now)
    earlier = course.runs.get(step.index)
    if earlier is not None and earlier.state == RunState.BEGUN:  # an approval that nobody gave in time
        earlier.state, earlier.ended_at, earlier.ended_by = RunState.WITHDRAWN, at, str(by.party)
        earlier.save(update_fields=["state", "ended_at", "ended_by"])
    run = StepRun.objects.create(
        execution=course.row,
        index=step.index,
        step=inert(step.id),
        attempt=earlier.attempt + 1 if earlier else 1,
        human=step.human,
        state=RunState.BEGUN,
        begun_at=at,
        begun_by=str(by.party),
        due_at=windows.after(at, step.duration),
        undo_expires_at=windows.after(at, step.window),
        reserved=step.spend,
    )
    course.runs[step.index] = run
    course.row.refused = ""
    course.watch()
    course.row.save(update_fields=["refused", "watch_at"])
    data = {
        **of_step(step, run),
        "due_at": moment(run.due_at),
        "undo_expires_at": moment(run.undo_expires_at),
        "reserved": f"{step.spend:f}",
    }
    entries = [entry("step_begun", course, data, by=by)]
    if step.human:
        entries.append(_asked(course, step, run, by=by))
    log.append(entries, now=now)
    return course


def _asked(course: Course, step: Step, run: StepRun, *, by: Actor) -> log.Entry:
    approval = Approval.objects.create(
        run=run,
        digest=course.row.digest,
        step_sha256=step.sha256,
        asked_at=run.begun_at,
        asked_by=str(by.party),
        deadline=min(run.due_at or course.script.expires_at, course.script.expires_at),
    )
    words = f"step {inert(step.id)} ({inert(step.tool)}) of plan {inert(course.script.saga)}"
    until = f"until {approval.deadline:%Y-%m-%d %H:%M:%S} UTC"
    announce(owner=course.row.owner, kind="approval", about=words, detail=until, now=run.begun_at)
    deadline = moment(approval.deadline)
    return entry("approval_asked", course, {**of_step(step, run), **bound(approval), "deadline": deadline}, by=by)


def bound(approval: Approval) -> dict[str, str]:
    """Return what an approval is bound to, as the log writes it."""
    return {"approval": str(approval.pk), "digest": approval.digest, "step_sha256": approval.step_sha256}
