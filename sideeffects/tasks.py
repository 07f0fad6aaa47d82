"""Which background work do side effects have? All of it finds its work in the rows; a wake-up only says when."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from sideeffects import actors
from sideeffects.carrier import Carrier
from sideeffects.services import batch_work, fence, notices, purge, stale
from sideeffects.services.batch_start import wake_batches

SLICE = timedelta(seconds=10)  # of a batch, after which a worker is free for what else waits
_carrier = Carrier(by=actors.system("worker"), clock=timezone.now, most=settings.CALLS_AT_ONCE)  # noqa: TID251  (a face)


@shared_task(name="sideeffects.carry_out")  # type: ignore[untyped-decorator]  # celery ships no types
def carry_out() -> None:
    """Carry requests to targets, and ask about those that were accepted, until nothing is due."""
    _carrier.run()


@shared_task(name="sideeffects.flag_stale")  # type: ignore[untyped-decorator]  # celery ships no types
def flag_stale() -> None:
    """Flag what is unresolved for longer than its threshold."""
    stale.flag(by=actors.system("beat"), now=timezone.now())  # noqa: TID251  (a face)


@shared_task(name="sideeffects.fire_fences")  # type: ignore[untyped-decorator]  # celery ships no types
def fire_fences() -> None:
    """Fire the fences whose calls have arrived."""
    fence.fire(by=actors.system("worker"), now=timezone.now())  # noqa: TID251  (a face)


@shared_task(name="sideeffects.work_batches")  # type: ignore[untyped-decorator]  # celery ships no types
def work_batches() -> None:
    """Go on with the batches that are at work; after a while whatever else waits has its turn, and then this again."""
    clock = timezone.now  # noqa: TID251  (a face)
    until = clock() + SLICE
    batch_work.work(by=actors.system("worker"), clock=clock, until=until)
    if clock() >= until:
        wake_batches()


@shared_task(name="sideeffects.send_notices")  # type: ignore[untyped-decorator]  # celery ships no types
def send_notices() -> None:
    """Write to people about what waits for them."""
    notices.send(by=actors.system("worker"), now=timezone.now())  # noqa: TID251  (a face)


@shared_task(name="sideeffects.purge")  # type: ignore[untyped-decorator]  # celery ships no types
def purge_trash() -> None:
    """Announce what is soon purged, and purge what was announced and is due."""
    by, now = actors.system("beat"), timezone.now()  # noqa: TID251  (a face)
    purge.announce(by=by, now=now)
    purge.purge(by=by, now=now)
