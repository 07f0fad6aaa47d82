"""How does a log get long quickly? Rows as the application writes them, computed here and put in by bulk."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.core.management.color import no_style
from django.db import connection, transaction

from audit import chain, tree
from audit.bench.place import NOW
from audit.bodies import Body, Entry, bodies_of
from audit.events import Party
from audit.models import Record, Seal

AT_ONCE = tree.GO * 256  # records in one go: as many as the tree takes at once
_MARK = "987654321000000"  # stands for the number in the record that all others are made of
_LOOKUPS = ("uid", "log", "action", "target_type", "target_id", "group", "actor", "owner", "outcome")
_TABLES = {
    "audit_record": ("id", "body", "leaf_hash", "occurred_at", *_LOOKUPS),
    "audit_subject": ("record_id", "object_type", "object_id"),
    "audit_seal": ("log", "seq", "record_id", "chain"),
}


def fill(log: str, count: int, *, after: int = 0) -> None:
    """Put small records on a log, up to so many, sealed; the tree above is extended by the sealer's own code."""
    by = Party("user", "1", "alice")
    [pattern] = bodies_of(Entry("role_granted", ("user", _MARK), by, None, {"role": "auditor"}), log=log, now=NOW)
    last = Seal.objects.filter(log=log, seq=after - 1).values_list("chain", flat=True).first()
    value = chain.from_hex(last) if last else chain.start(log)
    above = (Record.objects.order_by("-id").values_list("id", flat=True).first() or 0) + 1 - after
    for first in range(after, count, AT_ONCE):
        value = _go(log, pattern, range(first, min(first + AT_ONCE, count)), value, above)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Record]):
            cursor.execute(statement)


def _go(log: str, pattern: Body, numbers: range, value: bytes, above: int) -> bytes:
    """Put some more in, place k under the key `above + k`; returns the chain value after them."""
    at = connection.ops.adapt_datetimefield_value(NOW)
    rows: dict[str, list[Any]] = {table: [] for table in _TABLES}
    for seq in numbers:
        key, uid = above + seq, str(UUID(int=0x0193 << 112 | 7 << 76 | 2 << 62 | seq))
        text = pattern.text.replace(_MARK, str(seq)).replace(pattern.lookups["uid"], uid)
        leaf = sha256(b"\x00" + text.encode()).digest()
        value = chain.link(value, leaf)
        found = {**pattern.lookups, "target_id": str(seq), "uid": uid.replace("-", "")}
        rows["audit_record"].append((key, text, leaf.hex(), at, *(found[name] for name in _LOOKUPS)))
        rows["audit_subject"] += [(key, "user", number) for number in {str(seq), "1"}]
        rows["audit_seal"].append((log, seq, key, value.hex()))
    with transaction.atomic(), connection.cursor() as cursor:
        for table, found_rows in rows.items():
            _put(cursor, table, found_rows)
        tree.extend(log, numbers.stop)
    return value


def _put(cursor: Any, table: str, rows: Iterable[Any]) -> None:
    names = ", ".join(f'"{name}"' for name in _TABLES[table])
    if connection.vendor == "postgresql":
        with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    else:
        places = ", ".join(["%s"] * len(_TABLES[table]))
        cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", list(rows))  # noqa: S608  (our own constants)
