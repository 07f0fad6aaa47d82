"""End an execution past its pivot where it is to go no further: what is done stands, and nothing is rolled back."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses, policies
from plans.core import gates, lifecycle, windows
from plans.core.lifecycle import ExecutionState
from plans.core.words import inert
from plans.courses import Course
from plans.services.complete import ended
from plans.services.entries import entry
from plans.services.rollback import withdraw
from sideeffects.actors import Actor


class PivotNotCrossedError(Exception):
    """Up to the pivot there is a way back, so the end is a rollback."""

    def __init__(self, course: Course) -> None:
        self.execution, self.pivot = str(course.row.pk), inert(course.script.steps[course.script.pivot].id)
        super().__init__(f"The pivot {self.pivot} is not completed: roll back instead of stopping half way.")


def stop(*, execution: UUID, reason: str, by: Actor, now: datetime) -> Course:
    """End a running execution past its pivot; said twice it changes nothing. Return how it stands.

    What waits for a person waits no more; what runs may still report, which is recorded. Raises NotFoundError,
    ScopeMissingError, ReadOnlyError, ReasonRequiredError, PivotNotCrossedError, ExecutionStateError. Writes
    `stop_asked` and `execution_ended`.
    """
    reason = reason.strip()
    with transaction.atomic():
        course = courses.locked(execution)
        authority = policies.check_may_roll_back(by, course.row, reason=reason)
        if course.state is ExecutionState.STOPPED:
            return course
        if course.state is ExecutionState.RUNNING and not course.pivot_crossed:
            raise PivotNotCrossedError(course)
        following = gates.next_step(course.script, course.ran)
        course.row.state, course.row.ended_at = lifecycle.after(course.state, "stop"), now
        course.row.save(update_fields=["state", "ended_at"])
        withdraw(course, at=windows.moment(course.ran, now), by=by)
        step = inert(following.id) if following is not None else ""
        data = {"authority": authority.value, "reason": reason, "step": step}
        log.append([entry("stop_asked", course, data, by=by), ended(course, by=by)], now=now)
    return course
