"""Is the log what was written? Streams in constant memory, at one size, while writers write."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Min, QuerySet

from audit import chain, faults, log
from audit.events import Party
from audit.faults import Fault, Row
from audit.models import Record, Seal, Subject, Unsealed
from audit.snapshot import snapshot

CONSISTENT, BROKEN, CANNOT_TELL = "consistent", "broken", "cannot tell"
ROWS, BYTES = 500, 2_000_000  # how much is held at once
_COLUMNS = Row._fields[3:]


@dataclass(frozen=True)
class Verdict:
    """What verifying found out: never that the log is valid, only that it agrees with itself, or not, or unknown."""

    log: str
    verdict: str  # consistent, broken, cannot tell
    size: int  # places in the log as of the moment that was read
    checked: int  # how many of them were checked and found good, from the first
    head: str  # the chain value after the last of these
    unsealed: int  # records that have no place yet; nothing binds them
    oldest_unsealed_at: datetime | None
    fault: Fault | None = None


class _OutOfTimeError(Exception):
    """The time allowed is over before the log was."""


def verify(name: str | None = None, *, seconds: float | None = None) -> Verdict:
    """Check every record of a log against its bytes, its place, the chain, its lookup columns and its subjects.

    `consistent` says that the log agrees with itself, no more: whoever owns the database can write a new one, which
    only a checkpoint held outside would show. `broken` names the first fault. With `seconds`, a log that takes longer
    is answered `cannot tell`, with how far it got. No sealed record: `cannot tell`.
    """
    walk = _Walk(settings.AUDIT_LOG if name is None else name, None if seconds is None else time.monotonic() + seconds)
    with snapshot():
        walk.look()
        try:
            fault = walk.first_fault()
            verdict = BROKEN if fault else CONSISTENT if walk.size else CANNOT_TELL
        except _OutOfTimeError:
            fault, verdict = None, CANNOT_TELL
    return Verdict(
        walk.log, verdict, walk.size, walk.checked, walk.value.hex(), walk.unsealed, walk.oldest_unsealed_at, fault
    )


def verify_for(*, by: Party, now: datetime, seconds: float) -> Verdict:
    """Verify this deployment's log for someone who asked, and record that they did and what came of it."""
    verdict = verify(seconds=seconds)
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


class _Walk:
    """One way through a log, from the first place to the last; used inside a snapshot."""

    def __init__(self, log: str, deadline: float | None) -> None:
        self.log, self.deadline = log, deadline
        self.checked, self.value = 0, chain.start(log)

    def look(self) -> None:
        """See how much there is."""
        self.size = Seal.objects.filter(log=self.log).count()
        waiting = self._waiting().aggregate(number=Count("pk"), oldest=Min("record__occurred_at"))
        self.unsealed: int = waiting["number"]
        self.oldest_unsealed_at: datetime | None = waiting["oldest"]

    def first_fault(self) -> Fault | None:
        """Return the first fault: among places in their order, then among what has none."""
        places = Seal.objects.filter(log=self.log).order_by("seq", "id")
        columns = ("seq", "chain", "record_id", *(f"record__{name}" for name in _COLUMNS))
        for row, subjects in self._with_subjects(places.values_list(*columns).iterator(chunk_size=ROWS)):
            if fault := self._of_sealed(row, subjects):
                return fault
            self.checked, self.value = self.checked + 1, bytes.fromhex(row.chain or "")
        return self._of_the_end() or self._of_unsealed() or self._of_the_rest()

    def _of_sealed(self, row: Row, subjects: set[tuple[str, str]]) -> Fault | None:
        leaf = row.leaf
        fault = faults.of_place(row, self.checked) or faults.of_content(row, leaf, self.log, subjects)
        if fault or faults.follows(row, leaf, self.value):
            return fault
        places = Seal.objects.filter(log=self.log).order_by("seq").values_list("seq", "chain", "record__leaf_hash")
        return faults.of_chain(row, self.log, self.value, places.iterator(chunk_size=ROWS))

    def _of_the_end(self) -> Fault | None:
        if self.checked < self.size:
            return Fault(faults.MISSING, self.checked, "", f"place {self.checked} has no record")
        return None

    def _of_unsealed(self) -> Fault | None:
        columns = ("record_id", *(f"record__{name}" for name in _COLUMNS))
        rows = self._waiting().order_by("record_id").values_list(*columns).iterator(chunk_size=ROWS)
        for row, subjects in self._with_subjects((None, None, *row) for row in rows):
            if fault := faults.of_content(row, row.leaf, self.log, subjects):
                return fault
        return None

    def _of_the_rest(self) -> Fault | None:
        """Find what stands twice, or outside the chain; the numbers tell whether there is anything to look for."""
        records = Record.objects.filter(log=self.log)
        if not _uids_are_unique() and (twice := _first_uid_twice(self.log)):
            return Fault(faults.DUPLICATE, None, twice, "two records have this uid")
        if records.count() == self.size + self.unsealed:
            return None
        outside = records.filter(seal=None, unsealed=None).order_by("id").values_list("id", *_COLUMNS).first()
        if outside:
            return faults.without_place(Row(None, None, *outside))
        return Fault(faults.DUPLICATE, None, "", "a record has more than one place")

    def _waiting(self) -> QuerySet[Unsealed]:
        return Unsealed.objects.filter(record__log=self.log, record__seal=None)

    def _with_subjects(self, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[Row, set[tuple[str, str]]]]:
        for batch in _batches(Row(*row) for row in rows):  # type: ignore[arg-type]  # the columns are in Row's order
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise _OutOfTimeError
            found: dict[int, set[tuple[str, str]]] = {row.id: set() for row in batch}
            subjects = Subject.objects.filter(record_id__in=found).values_list("record_id", "object_type", "object_id")
            for record, type_, id_ in subjects:
                found[record].add((type_, id_))
            yield from ((row, found[row.id]) for row in batch)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    held = 0
    for row in rows:
        batch.append(row)
        held += len(row.body)
        if len(batch) == ROWS or held > BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _uids_are_unique() -> bool:
    """Ask whether the database itself guarantees it: then nothing need be counted."""
    with connection.cursor() as cursor:
        table = Record._meta.db_table
        constraints = connection.introspection.get_constraints(cursor, table)
    return any(constraint["unique"] and constraint["columns"] == ["uid"] for constraint in constraints.values())


def _first_uid_twice(log: str) -> str:
    twice = Record.objects.filter(log=log).values("uid").annotate(number=Count("id")).filter(number__gt=1)
    return str(twice.order_by("uid").values_list("uid", flat=True).first() or "")
