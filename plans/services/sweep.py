"""Flag executions whose undo windows are about to close, or have closed: once; and go on with what was interrupted."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from plans import courses
from plans.core import windows
from plans.core.lifecycle import ExecutionState
from plans.core.windows import Window
from plans.core.words import inert
from plans.courses import Course
from plans.models import Execution
from plans.services.entries import entry
from plans.services.rollback import carry_on
from sideeffects.actors import Actor
from sideeffects.services.told import announce

logger = logging.getLogger(__name__)


def sweep(*, by: Actor, now: datetime) -> int:
    """Stamp what is perishing or unrecoverable and has no stamp, and return how many stamps that were.

    A stamp says when that began, not when this found it. Then goes on with rollbacks that a crash has left. Writes
    `execution_perishing`, `execution_unrecoverable`, and what a rollback writes.
    """
    due = Execution.objects.filter(state=ExecutionState.RUNNING, watch_at__lte=now).order_by("watch_at")
    left = Execution.objects.filter(state=ExecutionState.ROLLING_BACK).order_by("pk")
    work = [(_flag, key) for key in due.values_list("pk", flat=True)]
    work += [(_resume, key) for key in left.values_list("pk", flat=True)]
    stamped, faults = 0, []
    for act, key in work:
        try:
            stamped += act(key, by=by, now=now)
        except Exception as fault:  # one that cannot go on must not keep the others; it is tried again
            logger.exception("the sweep cannot go on with execution %s", key)
            faults.append(fault)
    if faults:
        raise faults[0]
    return stamped


def _resume(key: UUID, *, by: Actor, now: datetime) -> int:
    carry_on(execution=key, by=by, now=now)
    return 0


def _flag(key: UUID, *, by: Actor, now: datetime) -> int:
    with transaction.atomic():
        course = courses.locked(key)
        row = course.row
        if course.state is not ExecutionState.RUNNING or row.watch_at is None or row.watch_at > now:
            return 0  # it moved on meanwhile
        held = windows.held(course.script, course.ran)
        found = []
        first = min(held, key=lambda window: window.perishes_at, default=None)
        if first is not None and row.perishing_since is None and first.perishes_at <= now:
            row.perishing_since = first.perishes_at
            found.append(("perishing", first, first.perishes_at))
        if held and row.unrecoverable_since is None and held[0].closes_at < now:
            row.unrecoverable_since = held[0].closes_at
            found.append(("unrecoverable", held[0], held[0].closes_at))
        course.watch()
        row.save(update_fields=["perishing_since", "unrecoverable_since", "watch_at"])
        entries = [_told(course, kind, window, since, by=by, now=now) for kind, window, since in found]
        if entries:
            log.append(entries, now=now)
    return len(found)


def _told(course: Course, kind: str, window: Window, since: datetime, *, by: Actor, now: datetime) -> log.Entry:
    name = inert(window.step.id)
    words = "closes" if kind == "perishing" else "closed"
    announce(
        owner=course.row.owner,
        kind=kind,
        about=f"plan {inert(course.script.saga)}, step {name}",
        detail=f"its undo window {words} at {window.closes_at:%Y-%m-%d %H:%M:%S} UTC, before the pivot",
        now=now,
    )
    data = {"step": name, "closes_at": window.closes_at.isoformat(), "since": since.isoformat()}
    return entry(f"execution_{kind}", course, data, by=by)
