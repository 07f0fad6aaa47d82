"""How is the log read for long without holding anyone up, and without moving while it is read?"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything inside as of one moment, while writers go on writing.

    On SQLite this is a deferred transaction: a read inside an IMMEDIATE one would block every writer. On PostgreSQL it
    is a read-only REPEATABLE READ transaction, in which `.iterator()` is a plain server-side cursor; in autocommit it
    would be WITH HOLD and write the whole result to temporary files. Raises RuntimeError inside another transaction
    (save a test case's), because that one's start decides what is seen.
    """
    connection = transaction.get_connection()
    if connection.in_atomic_block:
        with transaction.atomic(durable=True):  # raises, save where a TestCase wraps the test in a transaction
            yield
    elif connection.vendor == "sqlite":
        with _deferred(connection):
            yield
    else:
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                cursor.execute("SELECT 1")  # the first query takes the snapshot
            yield


def shared() -> str:
    """Return the name under which other processes see what this snapshot sees; SQLite has none, and needs none there.

    What only grows is the same in each of its snapshots, as far as the oldest goes.
    """
    if transaction.get_connection().vendor == "sqlite":
        return ""
    with transaction.get_connection().cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot()")
        return str(cursor.fetchone()[0])


@contextmanager
def snapshot_of(name: str) -> Iterator[None]:
    """Read everything inside as of the moment of another process's snapshot, which must still be open."""
    if not name:
        with snapshot():
            yield
        return
    with transaction.atomic(durable=True):
        with transaction.get_connection().cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{name}'")  # PostgreSQL's own name, and no place for a parameter
        yield


@contextmanager
def text_as_stored() -> Iterator[None]:
    """Read text that is no UTF-8 as well, each wrong byte as a lone surrogate: SQLite stores it, and reads it never."""
    raw = transaction.get_connection().connection
    usual, raw.text_factory = raw.text_factory, lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        raw.text_factory = usual


@contextmanager
def _deferred(connection: BaseDatabaseWrapper) -> Iterator[None]:
    connection.ensure_connection()  # connecting would set the usual mode again
    usual = connection.transaction_mode  # type: ignore[attr-defined]  # only SQLite's wrapper has it
    with ExitStack() as stack:
        connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]  # as above
        try:
            stack.enter_context(transaction.atomic(durable=True))
        finally:
            connection.transaction_mode = usual  # type: ignore[attr-defined]  # as above
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master")  # the first read takes the snapshot
        yield
