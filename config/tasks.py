"""Do beat and worker live? Beat stamps a row when it sends this task, the worker another when it runs it."""

from datetime import datetime
from typing import Any

from celery import shared_task
from celery.signals import before_task_publish
from django.db import close_old_connections
from django.utils import timezone

from sideeffects.models import Heartbeat

TASK = "config.heartbeat"


@shared_task(name=TASK)  # type: ignore[untyped-decorator]  # celery ships no types
def heartbeat() -> None:
    """Show that a worker runs what it is sent."""
    _stamp("worker", timezone.now())  # noqa: TID251  (a face)


@before_task_publish.connect(sender=TASK)  # type: ignore[untyped-decorator]  # celery ships no types
def beat_sends(**_: Any) -> None:
    """Show that beat sends; only beat sends this task."""
    close_old_connections()  # beat's thread sees no request, whose end would do it
    _stamp("beat", timezone.now())  # noqa: TID251  (a face)


def _stamp(name: str, now: datetime) -> None:
    Heartbeat.objects.update_or_create(name=name, defaults={"at": now})
