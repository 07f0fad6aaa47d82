"""What is wrong with a record, or with its place? Pure: one row at a time, against what its bytes say."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from audit import chain

CHANGED, MISSING, DUPLICATE, REORDERED = "changed", "missing", "duplicate", "reordered"
INSERTED, LOOKUP_ALTERED = "inserted", "lookup altered"
FORGED_HEAD, NOT_AN_EXTENSION = "forged head", "not an extension"
KINDS = (CHANGED, MISSING, DUPLICATE, REORDERED, INSERTED, LOOKUP_ALTERED, FORGED_HEAD, NOT_AN_EXTENSION)


@dataclass(frozen=True)
class Fault:
    """The first thing found broken: its kind, the place (None where a record has none), and a sentence."""

    kind: str
    seq: int | None
    uid: str
    detail: str


class Row(NamedTuple):  # made for every record of a log, and a tuple is made faster than anything else
    """A record as it stands in the tables; `seq` and `chain` are None while it is unsealed."""

    seq: int | None
    chain: str | None
    id: int
    uid: str
    body: str
    leaf_hash: str
    log: str
    action: str
    target_type: str
    target_id: str
    group: str
    actor: str
    owner: str
    outcome: str
    occurred_at: datetime

    @property
    def leaf(self) -> bytes:
        """Return the leaf hash of the stored bytes, whatever the column says."""
        return chain.leaf_hash(self.body.encode("utf-8", "surrogateescape"))

    @property
    def lookups(self) -> dict[str, str]:
        """Return the lookup columns in the form the body holds them."""
        return {
            "uid": str(self.uid),
            "log": self.log,
            "action": self.action,
            "target_type": self.target_type,
            "target_id": self.target_id,
            "group": self.group,
            "actor": self.actor,
            "owner": self.owner,
            "outcome": self.outcome,
            "occurred_at": chain.time_text(self.occurred_at),
        }


def of_place(row: Row, expected: int) -> Fault | None:
    """Say whether a place is skipped or taken twice."""
    assert row.seq is not None
    if row.seq > expected:
        return Fault(MISSING, expected, "", f"no record stands at place {expected}; the next one stands at {row.seq}")
    if row.seq < 0:
        return _at(row, INSERTED, "it stands before the first place")
    if row.seq < expected:
        return _at(row, DUPLICATE, f"place {row.seq} is taken twice")
    return None


def of_content(row: Row, leaf: bytes, log: str, subjects: set[tuple[str, str]]) -> Fault | None:
    """Say whether the bytes are not what was hashed, or the record is found by something the bytes do not say."""
    if leaf.hex() != row.leaf_hash:
        return _at(row, CHANGED, "its bytes do not have the leaf hash it was stored with")
    try:
        body = json.loads(row.body)
        wanted, spoken_of = chain.lookups_of(body), set(chain.subjects_of(body))
    except (ValueError, KeyError, TypeError):
        return _at(row, CHANGED, "its bytes are not a record")
    columns = row.lookups
    if columns != wanted:
        wrong = next(name for name, value in columns.items() if wanted[name] != value)
        return _at(row, LOOKUP_ALTERED, f"the column {wrong} does not hold what the record says")
    if row.log != log:
        return _at(row, LOOKUP_ALTERED, f"it is sealed in the log {log} and says {row.log}")
    return _of_subjects(row, spoken_of, subjects) if spoken_of != subjects else None


def _of_subjects(row: Row, spoken_of: set[tuple[str, str]], subjects: set[tuple[str, str]]) -> Fault:
    if lost := sorted(spoken_of - subjects):
        return _at(row, LOOKUP_ALTERED, f"it speaks of {' '.join(lost[0])} and is not found by it")
    added = min(subjects - spoken_of)
    return _at(row, LOOKUP_ALTERED, f"it is found by {' '.join(added)} and does not speak of it")


def follows(row: Row, leaf: bytes, before: bytes) -> bool:
    """Say whether the row's chain value is the one that follows."""
    return chain.link(before, leaf).hex() == row.chain


@dataclass
class _Looked:
    """What a look through the whole log tells about a row whose chain value does not follow."""

    belongs: int | None = None  # where the record stands that was sealed at this place
    same: int | None = None  # where the very same record stands too
    after: int | None = None  # the place that this row's chain value follows


def of_chain(row: Row, log: str, before: bytes, places: Iterable[tuple[int, str, str]]) -> Fault:
    """Say why the chain does not follow at this row; `places` streams (seq, chain, leaf hash) of the whole log."""
    assert row.seq is not None
    looked = _look(row, log, before, places)
    if looked.same is not None:
        return _at(row, DUPLICATE, f"the same record stands at place {looked.same} too")
    if looked.belongs is not None and looked.after is None:
        return _at(row, INSERTED, f"it stands before the record that was sealed here, now at place {looked.belongs}")
    if looked.belongs is not None:
        return _at(row, REORDERED, f"the record that was sealed here stands at place {looked.belongs}")
    if looked.after is not None and looked.after < row.seq - 1:
        first = looked.after + 1
        return Fault(INSERTED, first, "", f"what stands from place {first} to {row.seq - 1} was put in")
    return _at(row, CHANGED, "it is not what was sealed here: it was changed, or a record before it was taken out")


def _look(row: Row, log: str, before: bytes, places: Iterable[tuple[int, str, str]]) -> _Looked:
    looked = _Looked(after=-1 if _comes_after(row, chain.start(log)) else None)
    for seq, value, leaf in places:
        here = seq == row.seq
        link = chain.link(before, chain.from_hex(leaf)).hex()
        if not here and link in {value, row.chain}:
            looked.belongs = seq if looked.belongs is None else looked.belongs
        if not here and leaf == row.leaf_hash:
            looked.same = seq if looked.same is None else looked.same
        if link == row.chain or _comes_after(row, chain.from_hex(value)):  # either way this row was once sealed
            looked.after = seq if looked.after is None else looked.after
    return looked


def _comes_after(row: Row, value: bytes) -> bool:
    return chain.link(value, row.leaf).hex() == row.chain


def without_place(row: Row) -> Fault:
    """Say of a record that it is neither sealed nor waiting to be."""
    why = "it stands in the log without a place and waits for none: it was put in, or its place was taken away"
    return Fault(INSERTED, None, str(row.uid), why)


def unreadable(seq: int) -> Fault:
    """Say of a row that its columns hold what they cannot."""
    return Fault(LOOKUP_ALTERED, seq, "", "a column holds what is no time, no uid or no text")


def _at(row: Row, kind: str, detail: str) -> Fault:
    shown = detail.encode("utf-8", "replace").decode()  # what is no text is told of all the same
    return Fault(kind, row.seq, str(row.uid), shown)
