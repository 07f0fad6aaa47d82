"""What do the tests of batches share? A batch, and a worker that works all that waits, or so many chunks of it."""

from datetime import timedelta
from itertools import count

from sideeffects import actors
from sideeffects.batches import Scope
from sideeffects.models import Batch, Group
from sideeffects.services.batch import start, work
from tests.external import clock
from tests.factories import NOW, person


def started(group: Group) -> Batch:
    """Return a batch of alice's about one action, not worked yet."""
    return start(scope=Scope(groups=(group.pk,)), by=person("alice"), now=NOW, reason="", via="click")


def carry_on(*, chunks: int = 10_000) -> None:
    """Work all that waits, or so many chunks."""
    start, turns = clock(), count()
    until = start + timedelta(microseconds=chunks)
    work(by=actors.system("worker"), clock=lambda: start + timedelta(microseconds=next(turns)), until=until)
