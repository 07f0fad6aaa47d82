"""Which background work does the log have?"""

from celery import shared_task
from django.utils import timezone

from audit import checkpoints, log


@shared_task(name="audit.seal")  # type: ignore[untyped-decorator]  # celery ships no types
def seal() -> None:
    """Seal what is committed; another sealer at work is left to it."""
    log.seal(wait=False)


@shared_task(name="audit.checkpoint")  # type: ignore[untyped-decorator]  # as above
def checkpoint() -> None:
    """Sign and publish the head of the log where something is new."""
    log.seal(wait=False)
    checkpoints.sign_what_is_new(now=timezone.now())  # noqa: TID251  (a task is a face)
