"""What does an auditor take home? Receipts, and exports whose root comes out at home; nothing of it needs this server.

- receipt: a `.tlog-proof`; its extra data are the record's bytes. A record that was cut has one for each part, zipped.
- export: NDJSON, line k is leaf k: the record's very bytes, or (where it speaks of another object than the one asked
  for) its leaf hash as a JSON string. The last line holds the checkpoint that the lines lead to.
- CSV is for convenience and says that it is no evidence.
"""

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from audit import chain, checkpoints, log, note, tree
from audit.events import Party
from audit.models import Record, Seal, Subject

ROWS = 1_000
SCOPE = "declared calls only: what agents did without declaring it stands in no log"
PLAIN = "For convenience only, no evidence: verify the NDJSON export instead"
COLUMNS = (
    "action",
    "outcome",
    "target_type",
    "target_id",
    "group",
    "actor",
    "owner",
    "occurred_at",
    "uid",
    "leaf_hash",
)
# What spreadsheets take for the beginning of a formula, wide forms included.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class NotCoveredError(Exception):
    """No checkpoint covers the record, or there is none at all: what would be given out would prove nothing yet."""

    def __init__(self) -> None:
        super().__init__("No checkpoint covers this yet. One is signed every minute when something is new.")


@dataclass(frozen=True)
class File:
    """Something to take away."""

    name: str
    type: str
    chunks: Iterator[bytes]


# -- Receipts ---------------------------------------------------------------------------------------------------------


def receipt(uid: UUID) -> File:
    """Return the receipt of a record; raises Record.DoesNotExist, NotCoveredError."""
    here = Record.objects.filter(log=settings.AUDIT_LOG)
    place = here.filter(uid=uid).values_list("seal__seq", "body").get()
    texts = _receipts(_placed([place, *_other_parts(here.exclude(uid=uid), place[1])]))
    if len(texts) == 1:
        return File(f"{uid}.tlog-proof", "text/plain; charset=utf-8", iter([texts[0].encode()]))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(texts, 1):
            archive.writestr(f"{uid}-{number}-of-{len(texts)}.tlog-proof", text)
    return File(f"{uid}.zip", "application/zip", iter([file.getvalue()]))


def _other_parts(others: QuerySet[Record], body: str) -> list[tuple[int, str]]:
    part = json.loads(body)["part"]
    if part is None:
        return []
    named = Subject.objects.filter(object_type="record", object_id=part["first"])
    return list(others.filter(pk__in=named.values("record")).values_list("seal__seq", "body"))


def _placed(found: Sequence[tuple[int | None, str]]) -> list[tuple[int, str]]:
    """Return records by their places, in that order; raises NotCoveredError where one has none yet."""
    placed = sorted((seq, body) for seq, body in found if seq is not None)
    if len(placed) < len(found):
        raise NotCoveredError
    return placed


def _receipts(found: Sequence[tuple[int, str]]) -> list[str]:
    """Return the receipts of records by their places, in that order, all to the last checkpoint."""
    last = checkpoints.latest()
    if last is None or found[-1][0] >= last.size:
        raise NotCoveredError
    the_tree = tree.tree_for([seq for seq, _ in found], settings.AUDIT_LOG, last.size, last.root)
    return [
        str(note.Proof(seq, tuple(the_tree.inclusion(seq, last.size)), last.note, body.encode())) for seq, body in found
    ]


def last_checkpoint() -> checkpoints.Kept:
    """Return the last checkpoint; raises NotCoveredError where there is none."""
    last = checkpoints.latest()
    if last is None:
        raise NotCoveredError
    return last


# -- Exports ----------------------------------------------------------------------------------------------------------


def export_for(*, by: Party, now: datetime, form: str = "ndjson", about: tuple[str, str] | None = None) -> File:
    """Record that somebody exports, and return what they get: all that the last checkpoint covers.

    With `about`, what speaks of one object: in NDJSON the other lines are their leaf hashes, in CSV they are left out.
    Raises NotCoveredError.
    """
    last = last_checkpoint()
    data = {"form": form, "object": " ".join(about) if about else "", "size": last.size}
    with transaction.atomic():
        log.append([log.Entry("log_exported", ("log", settings.AUDIT_LOG), by, None, data)], now=now)
    make = table if form == "csv" else lines
    name = f"{settings.AUDIT_LOG}-{last.size}{'-' + '-'.join(about) if about else ''}.{form}"
    safe = "".join(character if character.isalnum() or character in "-._" else "_" for character in name)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    return File(safe if safe.isascii() else f"export.{form}", kind, make(settings.AUDIT_LOG, last, about))


def lines(name: str, last: checkpoints.Kept, about: tuple[str, str] | None = None) -> Iterator[bytes]:
    """Yield the export of all that a checkpoint covers, some records at a time; what it covers does not change."""
    speaking = None if about is None else _speaking_of(name, about)
    for first in range(0, last.size, ROWS):
        until = min(first + ROWS, last.size)
        places = Seal.objects.filter(log=name, seq__gte=first, seq__lt=until).order_by("seq")
        if speaking is None:
            bodies = places.values_list("record__body", flat=True)
            yield "".join(f"{body}\n" for body in bodies).encode()
        else:
            yield _with_hashes(places.values_list("record_id", "record__leaf_hash"), speaking)
    end = {"checkpoint": last.note, "scope": SCOPE, "size": last.size}
    yield json.dumps(end, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _with_hashes(places: Iterable[tuple[int, str]], speaking: set[int]) -> bytes:
    found = list(places)
    wanted = Record.objects.in_bulk([record for record, _ in found if record in speaking])
    return "".join(f"{wanted[pk].body}\n" if pk in wanted else f'"{leaf}"\n' for pk, leaf in found).encode()


def _speaking_of(name: str, about: tuple[str, str]) -> set[int]:
    """Return the records that speak of an object, and the other parts of those that were cut."""
    named = Subject.objects.filter(record__log=name, object_type=about[0], object_id=about[1])
    found = set(named.values_list("record_id", flat=True))
    firsts = Subject.objects.filter(record_id__in=found, object_type="record").values_list("object_id", flat=True)
    parts = Subject.objects.filter(record__log=name, object_type="record", object_id__in=set(firsts))
    return found | set(parts.values_list("record_id", flat=True))


def table(name: str, last: checkpoints.Kept, about: tuple[str, str] | None = None) -> Iterator[bytes]:
    """Yield a table for spreadsheets: inert cells, and a last line that says whether it is whole."""
    speaking = None if about is None else _speaking_of(name, about)
    count = 0
    yield _csv([[PLAIN], [SCOPE], ["place", *COLUMNS]])
    for first in range(0, last.size, ROWS):
        until = min(first + ROWS, last.size)
        rows = Seal.objects.filter(log=name, seq__gte=first, seq__lt=until).order_by("seq").select_related("record")
        cells = [[row.seq, *_cells(row.record)] for row in rows if speaking is None or row.record_id in speaking]
        count += len(cells)
        yield _csv(cells)
    yield _csv([[f"Whole: {count} of the {last.size} records that the checkpoint covers"]])


def _cells(record: Record) -> list[str]:
    values = (getattr(record, name) for name in COLUMNS)
    return [chain.time_text(value) if isinstance(value, datetime) else inert(str(value)) for value in values]


def inert(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _csv(rows: Sequence[Sequence[object]]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
