"""How is a log gone through, place by place? Fast where all agrees, member by member where something does not."""

import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Protocol

from audit import chain, faults, merkle
from audit.faults import Fault, Row
from audit.models import Record, Seal, Subject
from audit.rows import Sealed, agrees, stream

ROWS = merkle.WIDTH  # how many records are held at once
BEFORE_ALL, AFTER_ALL = -(2**62), 2**62  # no place stands outside of these
_COLUMNS = Row._fields[2:]


class OutOfTimeError(Exception):
    """The time allowed is over before the log was."""


class Watch(Protocol):
    """Who compares the tree with heads and tiles as it grows."""

    def next_size(self, size: int) -> int:
        """Return the size at which to look next."""

    def look(self, frontier: merkle.Frontier) -> Fault | None:
        """Return what is wrong at the size the tree has now."""


class Walk:
    """One way through a log: `checked` places were good, `value` is the chain and `frontier` the tree above them."""

    def __init__(self, log: str, deadline: float | None = None) -> None:
        self.log, self.deadline = log, deadline
        self.begin(0, chain.start(log), merkle.Frontier())

    def begin(self, checked: int, value: bytes, frontier: merkle.Frontier) -> None:
        """Take what stands before a place as good."""
        self.checked, self.value, self.frontier = checked, value, frontier
        self.before = checked - frontier.size  # places that the tree leaves out: it is that of a piece

    def first_fault(self, watch: Watch, end: int = AFTER_ALL) -> Fault | None:
        """Return the first fault among the places from here on."""
        first = self.checked or BEFORE_ALL
        for rows in stream(self.log, first, end, at_once=ROWS):
            self._keep_time()
            leaves = _leaves(rows)
            good, fault = self._good(rows, leaves)
            if early := self._grow(leaves[:good], watch):
                return early
            if fault:
                return fault
        return None

    def of_unsealed(self, rows: list[Sealed]) -> Fault | None:
        """Say what is wrong with records that have no place yet."""
        self._keep_time()
        for row, leaf in zip(rows, _leaves(rows), strict=True):
            if not (row[4] == leaf.hex() and row[3] == self.log and agrees(row)):
                found, subjects = next(rows_of([row[2]]))
                if fault := faults.of_content(found, leaf, self.log, subjects):
                    return fault
        return None

    def _keep_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTimeError

    def _good(self, rows: list[Sealed], leaves: list[bytes]) -> tuple[int, Fault | None]:
        """Return how many of the rows are good, and what is wrong with the next one."""
        value, log, first = self.value, self.log, self.checked
        for at, (row, leaf) in enumerate(zip(rows, leaves, strict=True)):
            after = sha256(value + leaf).digest()
            swift = row[0] == first + at and row[1] == after.hex() and row[4] == leaf.hex() and row[3] == log
            if not (swift and agrees(row)) and (fault := self._closer(row, leaf, first + at, value)):
                return at, fault
            self.value = value = after
        return len(rows), None

    def _grow(self, leaves: list[bytes], watch: Watch) -> Fault | None:
        """Grow the tree, stopping wherever someone wants to look."""
        done = 0
        while done < len(leaves):
            step = min(len(leaves) - done, watch.next_size(self.frontier.size) - self.frontier.size)
            self.frontier.add(leaves[done : done + step])
            done += step
            if fault := watch.look(self.frontier):
                return fault
            self.checked = self.before + self.frontier.size
        return None

    def _closer(self, sealed: Sealed, leaf: bytes, expected: int, before: bytes) -> Fault | None:
        """Look member by member at a row that did not agree at once."""
        seq, value, record = sealed[:3]
        try:
            row, subjects = next(rows_of([record], seq=seq, chain=value))
        except (ValueError, TypeError):  # what SQLite lets a column hold, and the column's type cannot be
            return faults.unreadable(seq)
        fault = faults.of_place(row, expected) or faults.of_content(row, leaf, self.log, subjects)
        if fault or faults.follows(row, leaf, before):
            return fault
        places = Seal.objects.filter(log=self.log).order_by("seq").values_list("seq", "chain", "record__leaf_hash")
        return faults.of_chain(row, self.log, before, places.iterator(chunk_size=ROWS))


def _leaves(rows: list[Sealed]) -> list[bytes]:
    """Return the leaf hashes of the stored bytes, whatever the columns say."""
    return [sha256(b"\x00" + row[5].encode("utf-8", "surrogateescape")).digest() for row in rows]


def rows_of(
    ids: Iterable[int], *, seq: int | None = None, chain: str | None = None
) -> Iterator[tuple[Row, set[tuple[str, str]]]]:
    """Yield records with what they are found by, in the order of the ids."""
    for record in ids:
        columns = Record.objects.filter(pk=record).values_list(*_COLUMNS).get()
        subjects = set(Subject.objects.filter(record_id=record).values_list("object_type", "object_id"))
        yield Row(seq, chain, *columns), subjects
