"""How are records written? In plain SQL: the ORM took four fifths of the time, and every change made here waits.

One statement a table; on PostgreSQL one for all three tables of a record.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain as joined
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from audit.bodies import Body
from audit.models import Record

MOST = 30_000  # values in one statement: SQLite takes 32,766
_NAMES = ("log", "action", "target_type", "target_id", "group", "actor", "owner", "outcome")
_WIDTH = len(_NAMES) + 4
_TYPES = (*("text" for _ in _NAMES), "uuid", "timestamptz", "text", "text")
_RECORDS = (
    'INSERT INTO audit_record (log, action, target_type, target_id, "group", actor, owner, outcome,'
    " uid, occurred_at, body, leaf_hash) {rows} RETURNING id, uid"
)
_SUBJECTS = "INSERT INTO audit_subject (record_id, object_type, object_id) "
_UNSEALED = "INSERT INTO audit_unsealed (record_id) "
_PLACES = "INSERT INTO audit_seal (log, seq, record_id, chain) VALUES {rows}"
_PLACES_AT_ONCE = (  # thousands of values in lists of their own: there is nothing to parse
    "INSERT INTO audit_seal (log, seq, record_id, chain)"
    " SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[])"
)
_ALL = (
    f"WITH r AS ({_RECORDS}), u AS ({_UNSEALED} SELECT id FROM r), s AS ({_SUBJECTS}"  # noqa: S608  (our own constants)
    " SELECT r.id, t.type, t.key FROM r JOIN unnest(%b::uuid[], %b::text[], %b::text[]) t (uid, type, key)"
    " ON t.uid = r.uid) SELECT id, uid FROM r"
)


def insert(bodies: Sequence[Body], *, now: datetime) -> list[int]:
    """Insert records with their subjects, and queue them for the sealer; returns their ids in order."""
    field = Record._meta.get_field("uid")
    uids = [field.get_db_prep_value(body.uid, connection) for body in bodies]
    at = connection.ops.adapt_datetimefield_value(now)
    write = _at_once if connection.vendor == "postgresql" else _table_by_table
    ids = dict[Any, int]()
    with connection.cursor() as cursor:
        for rows in _portions(list(zip(uids, bodies, strict=True))):
            values = [_values(uid, body, at) for uid, body in rows]
            subjects = [(uid, *pair) for uid, body in rows for pair in body.subjects]
            ids |= write(cursor, values, subjects)
    return [ids[uid] for uid in uids]


def _portions(rows: list[tuple[Any, Body]]) -> Iterator[list[tuple[Any, Body]]]:
    """Yield as many rows at a time as fit into a statement."""
    portion, room = list[tuple[Any, Body]](), MOST
    for row in rows:
        wanted = _WIDTH + 3 * len(row[1].subjects)
        if portion and wanted > room:
            yield portion
            portion, room = [], MOST
        portion.append(row)
        room -= wanted
    if portion:
        yield portion


def _values(uid: object, body: Body, at: object) -> list[Any]:
    return [*(body.lookups[name] for name in _NAMES), uid, at, body.text, body.leaf_hash]


def _at_once(cursor: CursorWrapper, values: list[list[Any]], subjects: list[tuple[Any, str, str]]) -> dict[Any, int]:
    rows, given = (_as_lists if len(values) > 1 else _as_values)(values, _TYPES)
    spoken_of = [list(column) for column in zip(*subjects, strict=True)]
    cursor.execute(_ALL.format(rows=rows), [*given, *spoken_of])
    return {uid: key for key, uid in cursor.fetchall()}


def _as_values(rows: Sequence[Sequence[Any]], types: Sequence[str]) -> tuple[str, list[Any]]:
    return f"VALUES {_rows(len(rows), len(types))}", [*joined(*rows)]


def _as_lists(rows: Sequence[Sequence[Any]], types: Sequence[str]) -> tuple[str, list[Any]]:
    """Send a list a column, or one value where it is the same in all rows: nothing to parse for each row."""
    columns = [
        (f"c{at}", type_, column) for at, (type_, column) in enumerate(zip(types, zip(*rows, strict=True), strict=True))
    ]
    one = {name: column[0] for name, _, column in columns if len(set(column)) == 1}
    many = {name: (type_, list(column)) for name, type_, column in columns if name not in one}
    selected = ", ".join(f"%b::{type_}" if name in one else name for name, type_, _ in columns)
    lists = ", ".join(f"%b::{type_}[]" for type_, _ in many.values())
    return (
        f"SELECT {selected} FROM unnest({lists}) e ({', '.join(many)})",  # noqa: S608  (our own constants)
        [*one.values(), *(column for _, column in many.values())],
    )


def _table_by_table(
    cursor: CursorWrapper, values: list[list[Any]], subjects: list[tuple[Any, str, str]]
) -> dict[Any, int]:
    rows, given = _as_values(values, _TYPES)
    cursor.execute(_RECORDS.format(rows=rows), given)
    ids = {uid: key for key, uid in cursor.fetchall()}
    found = [value for uid, type_, key in subjects for value in (ids[uid], type_, key)]
    cursor.execute(f"{_SUBJECTS} VALUES {_rows(len(subjects), 3)}", found)
    cursor.execute(f"{_UNSEALED} VALUES {_rows(len(ids), 1)}", [*ids.values()])
    return ids


def places(rows: Sequence[tuple[str, int, int, str]]) -> None:
    """Insert places: log, seq, record, chain."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_PLACES_AT_ONCE, [list(column) for column in zip(*rows, strict=True)])
        else:
            cursor.execute(_PLACES.format(rows=_rows(len(rows), 4)), [value for row in rows for value in row])


def _rows(count: int, width: int) -> str:
    row = f"({', '.join(['%s'] * width)})"
    return ", ".join([row] * count)
