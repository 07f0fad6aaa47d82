"""How does the log name executions and their steps?"""

from datetime import datetime
from typing import Any

from django.db import transaction

from audit import log
from plans import courses
from plans.core.script import Step
from plans.core.words import inert
from plans.courses import Course
from plans.models import StepRun
from sideeffects.actors import Actor, party_of
from sideeffects.services.refuse import name_of


def entry(
    action: str, course: Course, data: dict[str, Any], *, by: Actor, outcome: str = "", group: str = ""
) -> log.Entry:
    """Return a record about an execution; what it is about besides is the plan."""
    return log.Entry(
        action=action,
        target=("execution", str(course.row.pk)),
        actor=by.party,
        owner=party_of(course.row.owner),
        data=data,
        outcome=outcome,
        group=group,
        subjects=[("plan", str(course.row.plan_id))],
    )


def of_step(step: Step, run: StepRun) -> dict[str, str]:
    """Return how the log names one try of a step."""
    return {"step": inert(step.id), "tool": inert(step.tool), "attempt": str(run.attempt)}


def moment(at: datetime | None) -> str:
    """Return an instant as the log writes it; empty where there is none."""
    return at.isoformat() if at else ""


def log_refused(error: Any, *, execution: Any, by: Actor, now: datetime) -> None:
    """Write `step_refused` in a transaction of its own, once however often the same is asked and refused."""
    name = name_of(error)
    with transaction.atomic():
        course = courses.locked(execution)
        if course.row.refused == f"{name} {error.step}"[:300]:
            return
        course.row.refused = f"{name} {error.step}"[:300]
        course.row.save(update_fields=["refused"])
        data = {
            "step": inert(error.step),
            "refusal": name,
            "said": str(error),
            "window": inert(getattr(error, "window", None) or ""),
            "closes_at": moment(getattr(error, "closes_at", None)),
            "digest": getattr(error, "digest", course.row.digest),
            "presented": getattr(error, "presented", ""),
        }
        log.append([entry("step_refused", course, data, by=by, outcome="refused")], now=now)
