"""How are sealed records read fast? Plain tuples, streamed; whether the columns are the body's is seen by its bytes.

What does not agree at once is looked at member by member elsewhere (`faults`): this is the way for the many that do.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from json.encoder import encode_basestring as quoted  # in C: what json.dumps writes for a text
from typing import Any, NamedTuple

import msgspec
from django.db import connection

# Times as 2026-11-30 12:00:00[.000000] and uids as 32 digits, as SQLite stores them.
_TIMES = {
    "sqlite": "r.occurred_at || '', r.uid",
    "postgresql": (
        "to_char(r.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), replace(r.uid::text, '-', '')"
    ),
}
_JOINED = {"sqlite": "group_concat", "postgresql": "string_agg"}
# Subjects as their number and then as a list of pairs that is JSON where no text in it needs an escape.
_COLUMNS = (
    'r.id, r.log, r.leaf_hash, r.body, r.action, r.target_type, r.target_id, r."group", r.actor, r.owner, r.outcome,'
    " {times}, (SELECT count(*) || '[[\"' || {joined}(s.object_type || '\",\"' || s.object_id, '\"],[\"') || '\"]]'"
    " FROM audit_subject s WHERE s.record_id = r.id)"
)
_SEALED = (
    f"SELECT p.seq, p.chain, {_COLUMNS} FROM audit_seal p JOIN audit_record r ON r.id = p.record_id"  # noqa: S608  (our own constants)
    " WHERE p.log = %s AND p.seq >= %s AND p.seq < %s ORDER BY p.seq, p.id"
)
_WAITING = (
    f"SELECT NULL, NULL, {_COLUMNS} FROM audit_unsealed u JOIN audit_record r ON r.id = u.record_id"  # noqa: S608  (as above)
    " LEFT JOIN audit_seal p ON p.record_id = r.id WHERE r.log = %s AND p.id IS NULL ORDER BY r.id"
)
_DATA, _FORMAT, _PART = ',"data":{', ',"format":', ',"part":null,"subjects":['
_WHOLE_SECOND, _NO_FRACTION = 19, ".000000"  # characters of a time without a fraction, and what it then lacks


class _Object(msgspec.Struct):
    """Whatever it holds is passed over: that it can be read is all that is asked."""


_READ = msgspec.json.Decoder(_Object).decode


class Sealed(NamedTuple):
    """A sealed record as it is streamed: its place, its bytes, its columns, and its subjects as a list of pairs."""

    seq: int
    chain: str
    id: int
    log: str
    leaf_hash: str
    body: str
    action: str
    target_type: str
    target_id: str
    group: str
    actor: str
    owner: str
    outcome: str
    time: str
    uid: str
    subjects: str | None


def stream(log: str, first: int, end: int, *, at_once: int) -> Iterator[list[Sealed]]:
    """Yield the sealed records from one place up to another, in order, some at once; used inside a snapshot."""
    return _rows(_SEALED, [log, first, end], at_once)


def waiting(log: str, *, at_once: int) -> Iterator[list[Sealed]]:
    """Yield the records that have no place yet, likewise."""
    return _rows(_WAITING, [log], at_once)


def _rows(query: str, values: list[Any], at_once: int) -> Iterator[list[Sealed]]:
    with connection.chunked_cursor() as cursor:
        cursor.execute(query.format(times=_TIMES[connection.vendor], joined=_JOINED[connection.vendor]), values)
        while rows := cursor.fetchmany(at_once):
            yield rows


def agrees(row: Sealed) -> bool:
    """Say whether the columns and subjects are what the body says, by its bytes alone; False means: look closer.

    Sound because a canonical body has its members in one order, and no text in it an unescaped quote: the first
    `,"data":{` is that of the body itself, the last `,"format":` too, and nothing after it is left unread.
    """
    _, _, _, log, _, body, action, type_, id_, group, actor, owner, outcome, time, uid, subjects = row
    head = f'{{"action":{quoted(action)},"actor":'
    tail = f',"target":{{"id":{quoted(id_)},"type":{quoted(type_)}}},"uid":"'
    if not body.startswith(head) or body[-38:-2].replace("-", "") != uid or not body.endswith(tail, 0, -38):
        return False
    data = body.find(_DATA, len(head))
    facts = (
        f',"format":1,"group":{quoted(group)},"log":{quoted(log)},"occurred_at":"{time[:10]}T{time[11:]}'
        f'{_NO_FRACTION if len(time) == _WHOLE_SECOND else ""}Z","outcome":{quoted(outcome)},"owner":'
    )
    start = body.rfind(_FORMAT, data)
    if data < 0 or start < 0 or not body.startswith(facts, start):
        return False
    start += len(facts)
    part = body.find(_PART, start)
    acts, owned = _party(body[len(head) : data]), _party(body[start:part])
    if part < 0 or acts is None or owned is None or acts[0] != actor or owned[0] != owner or subjects is None:
        return False
    heads = {f"{quoted(type_)},{quoted(id_)}", acts[1], owned[1]}
    return _are_spoken_of(heads, body[part + len(_PART) : -38 - len(tail)], subjects) and _is_json(body)


def _are_spoken_of(heads: set[str], listed: str, subjects: str) -> bool:
    """Say whether target, actor, owner and the listed objects are the subjects, each once; False where unsure.

    Sound because there are as many pairs as rows, so none looks like two, and no text in them has an escape or a quote.
    """
    heads.discard("")
    if listed != "]":
        pairs = listed[1:-2].split("],[")
        if listed.count('","') != len(pairs) or listed[:1] != "[" or listed[-2:] != "]]":  # what looks like more pairs
            return False
        heads.update(pairs)
    count, _, text = subjects.partition("[")
    found = text[1:-2].split("],[")
    return "\\" not in subjects and heads == set(found) and len(found) == len(heads) == int(count)


def _is_json(body: str) -> bool:
    try:
        _READ(body)
    except ValueError:  # what msgspec raises, for text that is no UTF-8 too
        return False
    return True


@lru_cache(maxsize=4096)
def _party(text: str) -> tuple[str, str] | None:
    """Return a party's column and its subject, empty ones for nobody, None where the text is no party."""
    if text == "null":
        return "", ""
    try:
        party = json.loads(text)
        pair = f"{quoted(party['type'])},{quoted(party['id'])}"
        return (f"{party['type']}:{party['name']}", pair) if party.keys() == {"id", "name", "type"} else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
