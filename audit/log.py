"""How do records get onto the log, and when do they get their place?"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Any

from django.conf import settings
from django.db import transaction

from audit import chain, queue, tree
from audit.bodies import Body, Entry, bodies_of
from audit.insert import insert, places
from audit.models import Head, Record, Seal
from audit.snapshot import snapshot
from audit.wake import wake

__all__ = ["Entry", "OutsideTransactionError", "append", "seal", "snapshot"]

GO = 1_000  # records sealed in one transaction: on SQLite it holds the one write lock, for milliseconds


class OutsideTransactionError(Exception):
    """A record was to be written apart from what it records."""

    def __init__(self) -> None:
        super().__init__("audit.log.append belongs into the transaction of the change it records")


_wake_sealer = partial(wake, "audit.seal")
_wake_signer = partial(wake, "audit.checkpoint")


def append(entries: Sequence[Entry], *, now: datetime) -> list[Record]:
    """Put entries on the log, in the transaction of what they record; the one door.

    Returns one record an entry, in order; an entry whose member list does not fit into one body becomes several,
    numbered, and the first stands for it.
    Takes no lock: places are given by `seal` after the commit. Its failure is the operation's failure.
    Raises OutsideTransactionError, UnknownEventError, WrongFieldsError, BadBodyError, EntryTooLongError.
    """
    if not transaction.get_connection().in_atomic_block:
        raise OutsideTransactionError
    entry_bodies = [bodies_of(entry, log=settings.AUDIT_LOG, now=now) for entry in entries]
    bodies = [body for parts in entry_bodies for body in parts]
    if not bodies:
        return []
    ids = insert(bodies, now=now)
    _wake_after_commit(_wake_sealer)
    if any(entry.action == "COMPENSATE" for entry in entries):
        _wake_after_commit(_wake_signer)
    firsts = accumulate((len(parts) for parts in entry_bodies[:-1]), initial=0)
    return [_record(ids[first], bodies[first], now) for first in firsts]


def is_whole(record: Record) -> bool:
    """Say whether a record that was appended now is all of its entry, and not the first of several parts."""
    return json.loads(record.body)["part"] is None


def latest(*, group: str, action: str) -> Record | None:
    """Return the newest record of one kind that speaks of a group, if there is one."""
    return Record.objects.filter(log=settings.AUDIT_LOG, group=group, action=action).order_by("-id").first()


def about(*, group: str, most: int) -> list[Record]:
    """Return the newest records that speak of a group, newest first, without their bodies."""
    return list(Record.objects.filter(log=settings.AUDIT_LOG, group=group).defer("body").order_by("-id")[:most])


def _record(key: int, body: Body, now: datetime) -> Record:
    stored: dict[str, Any] = {**body.lookups, "uid": body.uid, "occurred_at": now}
    stored |= {"id": key, "body": body.text, "leaf_hash": body.leaf_hash}
    return Record.from_db(transaction.get_connection().alias, stored.keys(), stored.values())


def _wake_after_commit(waker: partial[None]) -> None:
    """Ask once per transaction, however many records it writes."""
    waiting = transaction.get_connection().run_on_commit
    if not any(function is waker for _, function, _ in waiting):
        transaction.on_commit(waker, robust=True)


def seal(log: str | None = None, *, wait: bool = True) -> int:
    """Give every committed record that has none its place in the chain, and return how many.

    One sealer at a time per log: with `wait` the second waits for the first, without it leaves the work to the first,
    which looks once more after unlocking (where the database can tell; SQLite always waits). Never "id greater than the
    last": ids commit out of order. Idle, it costs one query.
    """
    logs = [log] if log is not None else queue.logs()
    return sum(_seal_all(name, wait=wait) for name in logs if log is None or _waits(name))


def _waits(log: str) -> bool:
    return bool(queue.waiting(log, most=1))


def _seal_all(log: str, *, wait: bool) -> int:
    """Seal go by go until a look after unlocking finds nothing, or another sealer is at it."""
    total = 0
    while True:
        done = _seal_go(log, wait=wait)
        if done is None and (Head.objects.get_or_create(log=log)[1] or wait):  # at first there is nothing to lock
            continue
        total += done or 0
        if done is None or not _waits(log):
            return total


def _seal_go(log: str, *, wait: bool) -> int | None:
    """Seal what is committed, at most GO records; None where another sealer holds the lock."""
    with transaction.atomic():
        if Head.objects.select_for_update(skip_locked=not wait).filter(log=log).first() is None:
            return None
        waiting = queue.waiting(log, most=GO)
        fresh = [(record, leaf) for record, leaf, seq in waiting if seq is None]
        if found := _places(log, fresh):
            places(found)
            tree.extend(log, found[-1][1] + 1)
        queue.remove([record for record, _, _ in waiting])
    return len(fresh)


def _places(log: str, fresh: list[tuple[int, str]]) -> list[tuple[str, int, int, str]]:
    last = Seal.objects.filter(log=log).order_by("-seq").values_list("seq", "chain").first()
    seq, value = (last[0], bytes.fromhex(last[1])) if last else (-1, chain.start(log))
    found = []
    for record, leaf in fresh:
        seq, value = seq + 1, chain.link(value, bytes.fromhex(leaf))
        found.append((log, seq, record, value.hex()))
    return found
