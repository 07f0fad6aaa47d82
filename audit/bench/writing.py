"""What does a record cost to write, and its place?"""

from collections.abc import Iterator

from django.db import transaction

from audit import log
from audit.bench.place import AT_ONCE, NOW, Figure, cpu, entry, figure
from audit.bodies import bodies_of
from audit.models import Head

RECORDS = 20_000


def filling() -> Iterator[Figure]:
    """Fill the log; on the way, measure sealing beside inserting the same rows of places without hashing any."""
    entries = [entry(number) for number in range(AT_ONCE)]
    making = cpu(lambda: [bodies_of(one, log="bench", now=NOW) for one in entries])
    appending = sealing = 0.0
    for first in range(0, RECORDS, AT_ONCE):
        appending += _write(first, AT_ONCE)
        sealing += cpu(log.seal)
    yield figure("append in one process, beside making the bodies", RECORDS / appending, "records/s", AT_ONCE / making)
    rows = [Head(log=f"row {number}") for number in range(AT_ONCE)]
    inserting = cpu(lambda: Head.objects.bulk_create(rows))
    yield figure("seal, beside inserting as many rows", RECORDS / sealing, "records/s", AT_ONCE / inserting)


def _write(first: int, count: int) -> float:
    def work() -> None:
        with transaction.atomic():
            log.append([entry(number) for number in range(first, first + count)], now=NOW)

    return cpu(work)
