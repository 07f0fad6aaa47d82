"""Which background work does the log have?"""

from celery import shared_task

from audit import log


@shared_task(name="audit.seal")  # type: ignore[untyped-decorator]  # celery ships no types
def seal() -> None:
    """Seal what is committed; another sealer at work is left to it."""
    log.seal(wait=False)
