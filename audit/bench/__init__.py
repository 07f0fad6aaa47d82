"""How fast is the log here, against what this machine can do? Measured in a database of its own, gone afterwards."""

from collections.abc import Iterator

from django.db import connection

from audit.bench import clients, reading, writing
from audit.bench.place import Figure, elsewhere


def audit() -> Iterator[Figure]:
    """Measure sealing, verifying, proving and appending; every limit is measured in the same run."""
    with elsewhere():
        yield from writing.filling()
        yield from reading.verifying()
        yield from reading.proving()
        if connection.vendor == "postgresql":  # SQLite has one writer at a time
            yield from clients.appending()
