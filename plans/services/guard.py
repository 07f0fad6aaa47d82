"""Hold calls to the gates: what a step does is not recorded, nor run here, before the step has begun."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from plans import courses
from plans.core.script import RunState, Step
from plans.core.words import inert
from plans.courses import Course
from plans.models import Execution, StepRun
from sideeffects.actors import Actor
from sideeffects.services import record
from sideeffects.services.record import ToolCall

LENGTH = len(str(UUID(int=0)))
DONE_HERE = frozenset({RunState.BEGUN, RunState.COMPLETED})  # completed: the same call again is a replay


class StepNotBegunError(Exception):
    """A call names a step whose gate has not opened."""

    def __init__(self, course: Course, step: Step, run: StepRun | None) -> None:
        self.execution, self.step = str(course.row.pk), inert(step.id)
        self.state = run.state if run else "not begun"
        why = "a person decides it, and no call does" if step.human else "ask to begin it first"
        super().__init__(f"This call is step {self.step} of an execution, which is {self.state}: {why}.")


def check(call: ToolCall, *, executed: bool, owner: Any, by: Actor, now: datetime) -> None:
    """Let through what belongs to no step, or to one that has begun; raises StepNotBegunError, writes `call_refused`.

    `executed`: it would run here, so it must not after a failure either; what has run elsewhere is still told.
    """
    for course, step in _named(call, owner):
        run = course.runs.get(step.index)
        if run is None or step.human or (executed and run.state not in DONE_HERE):
            record.log_refused(call, reason="step-not-begun", owner=owner, by=by, now=now)
            raise StepNotBegunError(course, step, run)


def _named(call: ToolCall, owner: Any) -> Iterator[tuple[Course, Step]]:
    """Yield the steps that a call names: by its key, or by its members."""
    key, colon = call.idempotency_key[:LENGTH], call.idempotency_key[LENGTH : LENGTH + 1]
    for name in {key if colon == ":" else "", call.execution if call.step else ""} - {""}:
        row = _execution(name, owner)
        if row is None:
            continue
        course = courses.of(row)
        for step in course.script.steps:
            by_key = course.key(step) == call.idempotency_key
            if by_key or (name == call.execution and call.step in {step.id, inert(step.id)}):
                yield course, step


def _execution(name: str, owner: Any) -> Execution | None:
    try:
        key = UUID(name)
    except ValueError:
        return None
    return Execution.objects.select_related("plan", "owner", "agent").filter(pk=key, owner=owner).first()


record.CHECKS.append(check)
