"""How does a test change the log as an owner of the database could?"""

import contextlib
from collections.abc import Iterator

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from audit import triggers


@contextlib.contextmanager
def without_triggers(alias: str) -> Iterator[None]:
    """Take the append-only triggers away for a moment."""
    settle(connections[alias])
    triggers.remove(connections[alias])
    try:
        yield
        settle(connections[alias])
    finally:
        triggers.install(connections[alias])


def settle(connection: BaseDatabaseWrapper) -> None:
    """Have PostgreSQL check what it left for the commit: until then it alters no table within the transaction."""
    if connection.vendor == "postgresql" and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
