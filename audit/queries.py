"""Which records are there? Reads only; no page costs more where the log is longer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from audit.checkpoints import Kept, latest
from audit.filters import Cursor, Wanted, parties
from audit.models import Record, Seal, Subject, Unsealed

PAGE = 50
RARE = 2_000  # up to so many matches are fetched by their index and put in order
SPAN = 20_000  # beyond, a page looks through so many places and says where it stopped


@dataclass(frozen=True)
class Found:
    """A record with its place; `seq` and `chain` are None while it is unsealed."""

    record: Record
    seq: int | None = None
    chain: str | None = None


@dataclass(frozen=True)
class Page:
    """One page of a search; `searched_to` is set where it stopped looking before it was full."""

    found: list[Found]
    older: Cursor | None
    searched_to: int | None = None


@dataclass(frozen=True)
class Numbers:
    """How much of the log has a place, how old the oldest without one is, and how much the last checkpoint covers."""

    size: int
    unsealed: int
    oldest_unsealed_at: datetime | None
    checkpoint: Kept | None = None

    @property
    def unprotected(self) -> int:
        """Return how many records no checkpoint covers."""
        covered = self.checkpoint.size if self.checkpoint else 0
        return max(self.size - covered, 0) + self.unsealed


def search(wanted: Wanted, cursor: Cursor, *, size: int = PAGE) -> Page:
    """Return records unsealed first, then newest place first; see Cursor for what happens between two pages."""
    top = _top()
    waiting = [] if cursor.below_seq is not None else _unsealed(wanted, cursor, size + 1)
    if len(waiting) > size:
        head = top if cursor.head is None else cursor.head
        return Page(waiting[:size], Cursor(None, waiting[size - 1].record.pk, head))
    room = size - len(waiting)
    places, bottom = _places(wanted, cursor, top, room + 1)
    found = waiting + _with_records(places[:room])
    if len(places) > room:
        last = places[room - 1][0] if room else top
        return Page(found, replace(cursor, below_seq=last))
    return Page(found, replace(cursor, below_seq=bottom) if bottom else None, bottom or None)


def record(uid: UUID) -> Found:
    """Return one record of this log with its place; raises Record.DoesNotExist."""
    row = Record.objects.select_related("seal").get(log=settings.AUDIT_LOG, uid=uid)
    return _found(row)


def _found(row: Record) -> Found:
    place = getattr(row, "seal", None)
    return Found(row, place.seq, place.chain) if place else Found(row)


def story(found: Found, *, most: int = 200) -> list[Found]:
    """Return what is on the log of the same revocation, or of the same action where it is none, oldest first."""
    rows = Record.objects.filter(log=settings.AUDIT_LOG, group=found.record.group).select_related("seal")
    told = [_found(row) for row in rows.order_by("id")[:most]] if found.record.group else [found]
    revocation = _revocation(found.record)
    return [one for one in told if not revocation or _revocation(one.record) == revocation]


def _revocation(row: Record) -> str:
    try:
        return str(json.loads(row.body)["data"].get("revocation", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def subjects(row: Record) -> list[tuple[str, str]]:
    """Return every object the record is found by."""
    return list(Subject.objects.filter(record=row).order_by("id").values_list("object_type", "object_id"))


def numbers() -> Numbers:
    """Return the numbers that stand above every list."""
    waiting = Unsealed.objects.filter(record__log=settings.AUDIT_LOG)
    counted = waiting.aggregate(number=Count("pk"), oldest=Min("record__occurred_at"))
    return Numbers(_top(), counted["number"], counted["oldest"], latest())


def is_covered(found: Found) -> bool:
    """Say whether the last checkpoint covers a record, so that there is a receipt for it."""
    last = latest()
    return last is not None and found.seq is not None and found.seq < last.size


def _top() -> int:
    """Return how many places there are: the next free one."""
    last = Seal.objects.filter(log=settings.AUDIT_LOG).order_by("-seq").values_list("seq", flat=True).first()
    return 0 if last is None else last + 1


def _conditions(wanted: Wanted) -> Iterator[Q]:
    """Yield each condition on a record, the likely narrow ones first."""
    if wanted.type:
        named = Subject.objects.filter(record=OuterRef("pk"), object_type=wanted.type, object_id=wanted.id)
        yield Q(Exists(named))
    for name in ("group", "owner", "actor", "outcome", "action"):
        if value := getattr(wanted, name):
            yield Q(**{f"{name}__in": parties(value)}) if name in {"owner", "actor"} else Q(**{name: value})
    if wanted.since or wanted.until:
        since = Q(occurred_at__gte=wanted.since) if wanted.since else Q()
        yield since & Q(occurred_at__lt=wanted.until) if wanted.until else since


def _matching(wanted: Wanted) -> QuerySet[Record]:
    return Record.objects.filter(*_conditions(wanted), log=settings.AUDIT_LOG)


def _unsealed(wanted: Wanted, cursor: Cursor, size: int) -> list[Found]:
    rows = _matching(wanted).filter(pk__in=Unsealed.objects.values("record_id"))
    if cursor.below_id is not None:
        rows = rows.filter(pk__lt=cursor.below_id)
    return [Found(row) for row in rows.order_by("-pk")[:size]]


def _places(wanted: Wanted, cursor: Cursor, top: int, size: int) -> tuple[list[tuple[int, str, int]], int]:
    """Return (seq, chain, record id) below the cursor, newest first, and the place down to which it was looked."""
    below = top if cursor.below_seq is None else cursor.below_seq
    places = Seal.objects.filter(log=settings.AUDIT_LOG, seq__lt=below)
    if cursor.below_id is not None:
        places = places.filter(Q(seq__lt=cursor.head) | Q(record_id__lt=cursor.below_id))
    bottom = 0
    if any(True for _ in _conditions(wanted)):
        places = places.filter(Exists(_matching(wanted).filter(pk=OuterRef("record_id"))))
        rare = _rare(wanted)
        if rare is None:
            bottom = max(below - SPAN, 0)
            places = places.filter(seq__gte=bottom)
        else:
            places = places.filter(record_id__in=rare)
    return list(places.order_by("-seq").values_list("seq", "chain", "record_id")[:size]), bottom


def _rare(wanted: Wanted) -> list[int] | None:
    """Return the records that meet the first condition that few meet, or None where each is met by many."""
    for ids in _by_index(wanted):
        few = list(ids[: RARE + 1])
        if len(few) <= RARE:
            return few
    return None


def _by_index(wanted: Wanted) -> Iterator[QuerySet[Subject, int] | QuerySet[Record, int]]:
    """Yield the record ids that meet each condition, as its own index finds them."""
    conditions = list(_conditions(wanted))
    if wanted.type:
        named = Subject.objects.filter(object_type=wanted.type, object_id=wanted.id)
        yield named.values_list("record_id", flat=True)
        conditions = conditions[1:]
    for condition in conditions:
        yield Record.objects.filter(condition, log=settings.AUDIT_LOG).values_list("pk", flat=True)


def _with_records(places: list[tuple[int, str, int]]) -> list[Found]:
    rows = Record.objects.in_bulk([record for _, _, record in places])
    return [Found(rows[record], seq, chain) for seq, chain, record in places]
