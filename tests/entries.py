"""What can be put on the log in a test? Entries as services make them, without the services."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from django.db import transaction

from audit import chain, log
from audit.events import Party
from audit.log import Entry
from audit.models import Checkpoint, Record, Seal, Tile
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
        "batch": "",
        "trigger": "click",
        "authority": "owner",
        "reason": "",
        "asked_by": "user:alice",
        "settles": False,
        "overrides": False,
        "members": members,
        "attempts": [],
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


def a_row_of_each(count: int) -> None:
    """Put so many records on the log, and a row at least into every table that only grows."""
    sealed(count)
    Tile.objects.create(log="main", level=1, number=0, root="0" * 64)
    Checkpoint.objects.create(log="main", origin="o", size=1, root="0" * 64, note="", key="", published_at=NOW)


def many(count: int, *, at_once: int = 1_000) -> None:
    """Put many records on the log and have them sealed, some thousand in one transaction."""
    for first in range(0, count, at_once):
        write(*(revoked(number) for number in range(first, min(first + at_once, count))))
    log.seal()


def uids(records: Sequence[Record]) -> list[str]:
    """Return the records' uids as text."""
    return [str(record.uid) for record in records]


def places() -> list[tuple[int, str, str]]:
    """Return every place with its chain value and leaf hash, in order."""
    return list(Seal.objects.order_by("seq").values_list("seq", "chain", "record__leaf_hash"))


def assert_whole(count: int) -> None:
    """Fail unless every place is taken once, from 0 on, each bound to the one before."""
    found = places()
    assert [seq for seq, _, _ in found] == list(range(count))
    before = [chain.start("main").hex(), *(value for _, value, _ in found)]
    for (earlier, later), (_, _, leaf) in zip(pairwise(before), found, strict=True):
        assert chain.link(bytes.fromhex(earlier), bytes.fromhex(leaf)).hex() == later
