"""Is the log what was written? Streams in constant memory, at one size, while writers write."""

import time
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Count, Max, Min, QuerySet

from audit import faults, log, merkle
from audit.events import Party
from audit.faults import Fault
from audit.heads import Heads
from audit.held import Held
from audit.models import Checkpoint, Record, Seal, Unsealed
from audit.pieces import together
from audit.rows import waiting
from audit.snapshot import snapshot, text_as_stored
from audit.walk import ROWS, OutOfTimeError, Walk, rows_of

VERIFIED, CONSISTENT, BROKEN, CANNOT_TELL = "verified", "consistent", "broken", "cannot tell"


@dataclass(frozen=True)
class Reached:
    """How far a verify came before its time was over: enough for another to go on from there."""

    checked: int
    head: str
    peaks: tuple[str, ...]  # of the tree above what was checked


@dataclass(frozen=True)
class Verdict:
    """What verifying found out: never that the log is valid, only what it agrees with, or not, or unknown."""

    log: str
    verdict: str  # verified, consistent, broken, cannot tell
    size: int  # places in the log as of the moment that was read
    checked: int  # the places before this one were found good
    since: int  # where reading began: what stands before was taken from a checkpoint that had been checked
    head: str  # the chain value after the last of these
    root: str  # the root of the tree after the last of these
    covered: int  # how many records the checkpoint covers that was verified against, else the last one kept here
    unsealed: int  # records that have no place yet; nothing binds them
    oldest_unsealed_at: datetime | None
    fault: Fault | None = None
    reached: Reached | None = None  # where the time was over

    @property
    def unprotected(self) -> int:
        """Return how many records no checkpoint covers: they could be changed or taken away unnoticed."""
        return max(self.size - self.covered, 0) + self.unsealed


def verify(
    name: str | None = None,
    *,
    held: Held | None = None,
    incremental: bool = False,
    seconds: float | None = None,
    processes: int = 1,
    reached: Reached | None = None,
) -> Verdict:
    """Check every record against its bytes, place, chain, tree, lookup columns and subjects, and checkpoints.

    `verified` says that the log is the one whose checkpoints an auditor holds (`held`), up to their size. `consistent`
    says that it agrees with itself, no more: whoever owns the database can write a new one. `broken` names the first
    fault. With `incremental`, records that the smallest checkpoint held covers are not read again: that the log begins
    with them is proven by their root. With `seconds`, a log that takes longer is answered `cannot tell`, with how far
    it got, from where another goes on with `reached`, given the same `held`. With `processes`, several read at once:
    for a command, since a server's threads cannot be divided. No sealed record, and none that should be there:
    `cannot tell`.
    """
    log = settings.AUDIT_LOG if name is None else name
    look = partial(_look, log, held, seconds, incremental=incremental, processes=processes, reached=reached)
    with snapshot():
        try:
            return look()
        except OperationalError:
            if connection.vendor != "sqlite":
                raise
            with text_as_stored():
                return look()


def _look(
    log: str, held: Held | None, seconds: float | None, *, incremental: bool, processes: int, reached: Reached | None
) -> Verdict:
    looked = _Look(log, held, seconds=seconds)
    looked.processes, looked.reached = processes, reached
    looked.count(whole=not incremental)
    try:
        fault = looked.first_fault(incremental=incremental)
        verdict = BROKEN if fault else _good(looked.size, held)
    except OutOfTimeError:
        return replace(looked.verdict(CANNOT_TELL, None), reached=looked.here())
    return looked.verdict(verdict, fault)


def _good(size: int, held: Held | None) -> str:
    if not size:
        return CANNOT_TELL
    return VERIFIED if held else CONSISTENT


def verify_for(
    *, by: Party, now: datetime, seconds: float, held: Held | None = None, reached: Reached | None = None
) -> Verdict:
    """Verify this deployment's log for someone who asked, and record that they did and what came of it."""
    verdict = verify(held=held, seconds=seconds, reached=reached)
    fault = verdict.fault
    data = {
        "verdict": verdict.verdict,
        "size": verdict.size,
        "checked": verdict.checked,
        "kind": fault.kind if fault else "",
        "seq": fault.seq if fault else None,
    }
    with transaction.atomic():
        log.append([log.Entry("log_verified", ("log", verdict.log), by, None, data, outcome=verdict.verdict)], now=now)
    return verdict


class _Look:
    """One look at a log; used inside a snapshot."""

    def __init__(self, log: str, held: Held | None, *, seconds: float | None) -> None:
        self.log, self.held, self.since, self.processes = log, held, 0, 1
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.walk = Walk(log, self.deadline)
        self.reached: Reached | None = None

    def count(self, *, whole: bool) -> None:
        """See how much there is; without `whole` at no cost that grows with the log."""
        seals = Seal.objects.filter(log=self.log)
        last: int | None = seals.aggregate(last=Max("seq"))["last"]
        self.size = seals.count() if whole else 0 if last is None else last + 1
        waiting = self._waiting().aggregate(number=Count("pk"), oldest=Min("record__occurred_at"))
        self.unsealed: int = waiting["number"]
        self.oldest_unsealed_at: datetime | None = waiting["oldest"]
        kept = Checkpoint.objects.filter(log=self.log).order_by("-published_at", "-size").values_list("size", flat=True)
        self.covered = self.held.size if self.held else kept.first() or 0

    def first_fault(self, *, incremental: bool) -> Fault | None:
        """Return the first fault: among places in their order, then among what has none."""
        heads = Heads(self.log, self.held)
        if incremental and self.held:
            if fault := heads.resume(self.walk, self.held.checked):
                return fault
            self.since = self.walk.checked
        if self.reached:
            self._go_on(heads, self.reached)
        early = together(self.walk, heads, self.size, self.processes) if self.processes > 1 else None
        fault = early or self.walk.first_fault(heads) or self._of_the_end() or heads.of_the_end(self.walk.checked)
        return fault or self._of_unsealed() or (None if incremental else self._of_the_rest())

    def _go_on(self, heads: Heads, reached: Reached) -> None:
        frontier = merkle.Frontier(reached.checked, map(bytes.fromhex, reached.peaks))
        self.walk.begin(reached.checked, bytes.fromhex(reached.head), frontier)
        heads.go_on(reached.checked)

    def here(self) -> Reached:
        """Return how far it has come."""
        walk = self.walk
        return Reached(walk.checked, walk.value.hex(), tuple(peak.hex() for peak in walk.frontier.peaks))

    def verdict(self, verdict: str, fault: Fault | None) -> Verdict:
        """Return what was found out."""
        walk = self.walk
        numbers = (self.size, walk.checked, self.since)
        heads = (walk.value.hex(), walk.frontier.root.hex())
        return Verdict(self.log, verdict, *numbers, *heads, self.covered, self.unsealed, self.oldest_unsealed_at, fault)

    def _of_the_end(self) -> Fault | None:
        if self.walk.checked < self.size:
            return Fault(faults.MISSING, self.walk.checked, "", f"place {self.walk.checked} has no record")
        return None

    def _of_unsealed(self) -> Fault | None:
        for rows in waiting(self.log, at_once=ROWS):
            if fault := self.walk.of_unsealed(rows):
                return fault
        return None

    def _of_the_rest(self) -> Fault | None:
        """Find what stands twice, or outside the chain; the numbers tell whether there is anything to look for."""
        records = Record.objects.filter(log=self.log)
        if not _uids_are_unique() and (twice := _first_uid_twice(self.log)):
            return Fault(faults.DUPLICATE, None, twice, "two records have this uid")
        if records.count() == self.size + self.unsealed:
            return None
        outside = records.filter(seal=None, unsealed=None).order_by("id").values_list("id", flat=True)[:1]
        for row, _ in rows_of(outside):
            return faults.without_place(row)
        return Fault(faults.DUPLICATE, None, "", "a record has more than one place")

    def _waiting(self) -> QuerySet[Unsealed]:
        return Unsealed.objects.filter(record__log=self.log, record__seal=None)


def _uids_are_unique() -> bool:
    """Ask whether the database itself guarantees it: then nothing need be counted."""
    with connection.cursor() as cursor:
        table = Record._meta.db_table
        constraints = connection.introspection.get_constraints(cursor, table)
    return any(constraint["unique"] and constraint["columns"] == ["uid"] for constraint in constraints.values())


def _first_uid_twice(log: str) -> str:
    twice = Record.objects.filter(log=log).values("uid").annotate(number=Count("id")).filter(number__gt=1)
    return str(twice.order_by("uid").values_list("uid", flat=True).first() or "")
