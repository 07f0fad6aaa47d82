"""What do the tests of batches share? A worker that works all that waits, or so many chunks of it, now."""

from datetime import timedelta
from itertools import count

from sideeffects import actors
from sideeffects.services.batch import work
from tests.external import clock


def carry_on(*, chunks: int = 10_000) -> None:
    """Work all that waits, or so many chunks."""
    start, turns = clock(), count()
    until = start + timedelta(microseconds=chunks)
    work(by=actors.system("worker"), clock=lambda: start + timedelta(microseconds=next(turns)), until=until)
