"""Take the agent's word that a step is completed: what it wrote is recorded as one action, and its window is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.dateparse import parse_datetime

from audit import log
from plans import courses, policies
from plans.core import gates, lifecycle, windows
from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState, Step
from plans.core.words import inert
from plans.courses import Course
from plans.models import StepRun
from plans.services.entries import entry, of_step
from plans.services.rollback import carry_on
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from sideeffects.models import Group
from sideeffects.services import land, record
from sideeffects.services.land import Recorded
from sideeffects.transitions import GroupState


class StepNotRunningError(Exception):
    """Nothing can be reported of a step that is not running."""

    def __init__(self, step: Step, run: StepRun | None) -> None:
        self.step, self.state = inert(step.id), run.state if run else "not begun"
        super().__init__(f"{self.step} is {self.state}: ask to begin it first, then report.")


class StepForPersonError(Exception):
    """A person completes this step by approving it."""

    def __init__(self, step: Step) -> None:
        self.step = inert(step.id)
        super().__init__(f"{self.step} waits for a person; nobody else completes it.")


class EffectsMissingError(Exception):
    """Nothing says what the step wrote."""

    def __init__(self, step: Step, key: str) -> None:
        self.step, self.key, self.member = inert(step.id), key, "effects"
        super().__init__("Say what the step wrote; an empty list says that it wrote nothing.")


def complete(
    *,
    execution: UUID,
    step: str,
    by: Actor,
    now: datetime,
    effects: Sequence[Declared] | None = None,
    arguments: Mapping[str, Any] | None = None,
    spent: Decimal | None = None,
) -> tuple[Course, Recorded]:
    """Complete a running step with what it declares, principal first; return how the execution stands.

    Without `effects` the call must have been recorded under the step's key already. A repeat is compared with what is
    held; what differs is kept and returned as a conflict, never raised here. Raises NotFoundError, ForAgentsOnlyError,
    ScopeMissingError, StepNotRunningError, StepForPersonError, EffectsMissingError, and what `record` raises. Writes
    `step_completed`, and `execution_ended` after the last step.
    """
    with transaction.atomic():
        course = courses.locked(execution)
        policies.check_may_carry_out(by, course.row)
        wanted = course.step(step)
        run = _reportable(course, wanted)
        call = call_of(course, wanted, arguments or {})
        recorded = _recorded(call, _in_time(effects, run), wanted, owner=course.row.owner, by=by, now=now)
        if run.state == RunState.BEGUN:
            _completed(course, wanted, run, recorded, spent, by=by, now=now)
    if (
        course.state is ExecutionState.ROLLING_BACK
    ):  # it was running when the rollback came: now it is known what it did
        course = carry_on(execution=execution, by=by, now=now)
    return course, recorded


def _reportable(course: Course, step: Step) -> StepRun:
    run = course.runs.get(step.index)
    if run is None or run.state not in windows.HELD:
        raise StepNotRunningError(step, run)
    if run.human:
        raise StepForPersonError(step)
    return run


def call_of(course: Course, step: Step, arguments: Mapping[str, Any]) -> record.ToolCall:
    """Return a step as the call that it is."""
    return record.ToolCall(
        tool=step.tool[:200],
        arguments=arguments,
        conversation=course.row.conversation,
        run=course.row.run,
        execution=str(course.row.pk),
        step=inert(step.id),
        idempotency_key=course.key(step),
    )


def known_of(call: record.ToolCall, *, owner: Any, by: Actor) -> Group | None:
    """Return the action that was recorded under the step's key, its row locked; none where there is none yet."""
    found = record.generations(record.key_of(call, owner=owner, by=by), owner=owner)
    if found and found[-1].tool != call.tool:
        raise record.KeyReusedError(found[-1])
    return found[-1] if found else None


def _in_time(effects: Sequence[Declared] | None, run: StepRun) -> list[Declared] | None:
    """Return the effects with the step's window, where they declare no shorter one."""
    if effects is None or run.undo_expires_at is None:
        return None if effects is None else list(effects)
    return [
        replace(effect, undo_expires_at=_earlier(effect.undo_expires_at, run.undo_expires_at)) for effect in effects
    ]


def _earlier(declared: str, until: datetime) -> str:
    own = parse_datetime(declared) if declared else None
    earlier = min(own, until) if own is not None else until
    return earlier.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _recorded(
    call: record.ToolCall, effects: list[Declared] | None, step: Step, *, owner: Any, by: Actor, now: datetime
) -> Recorded:
    known = known_of(call, owner=owner, by=by)
    if effects is None:
        if known is None or known.state != GroupState.LANDED:
            raise EffectsMissingError(step, call.idempotency_key)
        return Recorded("replayed", known)
    if known is not None:  # announced, or told, under this key: its arguments are known already
        return land.land(group=known.pk, effects=effects, by=by, now=now, executing=True)
    return record.record(call=call, status=record.Status.LANDED, effects=effects, owner=owner, by=by, now=now)


def _completed(
    course: Course, step: Step, run: StepRun, recorded: Recorded, spent: Decimal | None, *, by: Actor, now: datetime
) -> None:
    run.state, run.ended_at, run.ended_by = RunState.COMPLETED, windows.moment(course.ran, now), str(by.party)
    run.group, run.spent = recorded.group, spent
    run.save(update_fields=["state", "ended_at", "ended_by", "group", "spent"])
    data = {
        **of_step(step, run),
        "group": str(run.group_id or ""),
        "spent": "" if spent is None else f"{spent:f}",
        "late": str(gates.overdue(step, course.ran[step.index], now)).lower(),
    }
    group = str(run.group_id or "")
    log.append([entry("step_completed", course, data, by=by, group=group), *finished(course, by=by, now=now)], now=now)


def finished(course: Course, *, by: Actor, now: datetime) -> list[log.Entry]:
    """End a running execution whose steps are all completed; return what stands on the log of it."""
    course.watch()
    entries = []
    if course.state is ExecutionState.RUNNING and gates.next_step(course.script, course.ran) is None:
        course.row.state, course.row.ended_at = lifecycle.after(course.state, "finish"), now
        entries = [ended(course, by=by)]
    course.row.save(update_fields=["state", "ended_at", "watch_at"])
    return entries


def ended(course: Course, *, by: Actor) -> log.Entry:
    """Return the record of an execution's end."""
    words = course.state.value.replace("_", " ")
    return entry("execution_ended", course, {"saga": inert(course.script.saga)}, by=by, outcome=words)
