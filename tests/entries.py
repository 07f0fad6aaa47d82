"""What can be put on the log in a test? Entries as services make them, without the services."""

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from audit import log
from audit.events import Party
from audit.log import Entry
from audit.models import Record
from tests.factories import NOW

ALICE, ADMIN, PLANNER = Party("user", "1", "alice"), Party("user", "2", "admin"), Party("agent", "7", "planner")


def revoked(number: int = 1, *, tasks: int = 2, title: str = "", **changes: Any) -> Entry:
    """Return a COMPENSATE for project `number` and its tasks."""
    ids = [f"{number}{task:03}" for task in range(tasks)]
    members = [{"type": "task", "id": key, "outcome": "revoked", "detail": title} for key in ids]
    data = {
        "tool": "project.create",
        "tool_version": "1",
        "revocation": f"r{number}",
        "trigger": "click",
        "authority": "owner",
        "reason": "",
        "members": members,
        "counts": {"revoked": tasks},
        "complete": True,
        "conflict_open": False,
    }
    wanted: dict[str, Any] = {
        "action": "COMPENSATE",
        "target": ("project", str(number)),
        "actor": ALICE,
        "owner": ALICE,
        "data": data,
        "group": f"g{number}",
        "outcome": "revoked",
        "subjects": [("task", key) for key in ids],
    }
    return Entry(**(wanted | changes))


def granted(number: int = 1, **changes: Any) -> Entry:
    """Return a small record: a role was granted."""
    wanted: dict[str, Any] = {
        "action": "role_granted",
        "target": ("user", str(number)),
        "actor": ADMIN,
        "owner": None,
        "data": {"role": "auditor"},
    }
    return Entry(**(wanted | changes))


def write(*entries: Entry, now: Any = NOW) -> list[Record]:
    """Put entries on the log in a transaction of their own."""
    with transaction.atomic():
        return log.append(entries, now=now)


def sealed(count: int, **changes: Any) -> list[Record]:
    """Put records on the log and have them sealed: places 0 to count - 1."""
    records = write(*(revoked(number, **changes) for number in range(count)))
    log.seal()
    return records


def many(count: int, *, at_once: int = 1_000) -> None:
    """Put many records on the log and have them sealed, some thousand in one transaction."""
    for first in range(0, count, at_once):
        write(*(revoked(number) for number in range(first, min(first + at_once, count))))
    log.seal()


def settle() -> None:
    """Have PostgreSQL check what it left for the commit, so that tables can be altered within the test's transaction."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def uids(records: Sequence[Record]) -> list[str]:
    """Return the records' uids as text."""
    return [str(record.uid) for record in records]
