"""What does an entry say, in bytes? Pure: from what a caller hands over to the bodies that are stored."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from uuid6 import uuid7

from audit import chain, events

FORMAT = 1
# How long a lookup column may be; the same on every database.
LIMITS = {
    "log": 40,
    "action": 60,
    "target_type": 60,
    "target_id": 255,
    "group": 100,
    "actor": 320,
    "owner": 320,
    "outcome": 40,
}


class EntryTooLongError(Exception):
    """An entry does not fit, even cut into parts; `what` names the member that is too long."""

    def __init__(self, action: str, what: str) -> None:
        self.action, self.what = action, what
        super().__init__(f"{action}: {what} is too long for a record")


@dataclass(frozen=True)
class Entry:
    """One thing to put on the log.

    `target` is the (type, id) of the principal; `subjects` are further objects the record must be found by;
    `data` holds exactly the fields the catalogue declares; actor and owner are kept apart, whoever asks.
    """

    action: str
    target: tuple[str, str]
    actor: events.Party
    owner: events.Party | None
    data: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    outcome: str = ""
    subjects: Sequence[tuple[str, str]] = ()


class Body(NamedTuple):
    """What is stored of one record: the canonical text and what is derived from it."""

    uid: uuid.UUID
    text: str
    leaf_hash: str
    lookups: dict[str, str]
    subjects: list[tuple[str, str]]


def bodies_of(entry: Entry, *, log: str, now: datetime) -> list[Body]:
    """Return the entry's bodies: one, or numbered parts where a long member list does not fit into one.

    Raises UnknownEventError, WrongFieldsError, BadBodyError, EntryTooLongError.
    """
    events.check(entry.action, entry.data)
    whole = _whole(entry, log, now)
    encoded = chain.canonical(whole)
    if len(encoded) <= chain.BODY_LIMIT:
        return [_body(whole, encoded)]
    return _parts(whole, len(encoded))


def _whole(entry: Entry, log: str, now: datetime) -> dict[str, Any]:
    return {
        "action": entry.action,
        "actor": _party(entry.actor),
        "data": dict(entry.data),
        "format": FORMAT,
        "group": entry.group,
        "log": log,
        "occurred_at": chain.time_text(now),
        "outcome": entry.outcome,
        "owner": _party(entry.owner) if entry.owner else None,
        "part": None,
        "subjects": [list(pair) for pair in dict.fromkeys(map(tuple, entry.subjects))],
        "target": {"type": entry.target[0], "id": entry.target[1]},
        "uid": _uid(),
    }


def _parts(whole: dict[str, Any], size: int) -> list[Body]:
    """Cut every list into the same number of slices, as few as fit; what is no list stands in each part."""
    longest = max([len(whole["subjects"]), *(len(value) for value in _lists(whole["data"]).values())])
    count = size // chain.BODY_LIMIT + 1
    while count <= longest:
        parts = [(part, chain.canonical(part)) for part in _cut(whole, count)]
        if max(len(encoded) for _, encoded in parts) <= chain.BODY_LIMIT:
            return [_body(part, encoded) for part, encoded in parts]
        count += count // 4 + 1
    raise EntryTooLongError(whole["action"], "the data")


def _cut(whole: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    lists = _lists(whole["data"])
    for number in range(count):
        data = {**whole["data"], **{name: _slice(value, number, count) for name, value in lists.items()}}
        yield {
            **whole,
            "data": data,
            "part": {"number": number + 1, "of": count, "first": whole["uid"]},
            "subjects": _slice(whole["subjects"], number, count),
            "uid": _uid() if number else whole["uid"],
        }


def _lists(data: Mapping[str, Any]) -> dict[str, list[Any] | tuple[Any, ...]]:
    return {name: value for name, value in data.items() if isinstance(value, list | tuple)}


def _slice(values: Sequence[Any], number: int, count: int) -> list[Any]:
    return list(values[number * len(values) // count : (number + 1) * len(values) // count])


def _body(body: dict[str, Any], encoded: bytes) -> Body:
    lookups, subjects = chain.lookups_of(body), chain.subjects_of(body)
    for name, limit in LIMITS.items():
        if len(lookups[name]) > limit:
            raise EntryTooLongError(body["action"], name)
    for type_, id_ in subjects:
        if len(type_) > LIMITS["target_type"] or len(id_) > LIMITS["target_id"]:
            raise EntryTooLongError(body["action"], "a subject")
    return Body(uuid.UUID(body["uid"]), encoded.decode(), chain.leaf_hash(encoded).hex(), lookups, subjects)


def _party(party: events.Party) -> dict[str, str]:
    return {"type": party.type, "id": party.id, "name": party.name}


def _uid() -> str:
    return str(uuid7())
