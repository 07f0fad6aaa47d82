"""Which background work do executions have? It finds its work in the rows; the gates never wait for it."""

from celery import shared_task
from django.utils import timezone

from plans.services import sweep
from sideeffects import actors


@shared_task(name="plans.sweep_executions")  # type: ignore[untyped-decorator]  # celery ships no types
def sweep_executions() -> None:
    """Flag what is perishing or unrecoverable, and go on with rollbacks that were interrupted."""
    sweep.sweep(by=actors.system("beat"), now=timezone.now())  # noqa: TID251  (a face)
