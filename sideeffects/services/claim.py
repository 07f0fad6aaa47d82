"""Claim what is due: a batch of requests, capped per target, each held by a lease until its answer is settled."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from sideeffects.actors import Actor
from sideeffects.identity import CannotSignError, Signer, signer_of
from sideeffects.models import Agent, Attempt, Group, Request, SigningKey, Target, ToolVersion
from sideeffects.services import keys
from sideeffects.transitions import EffectState

Purpose = Attempt.Purpose
ENDED = "the process that made this try ended before its answer was settled"


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """One try that may be made by whoever holds its lease; without a signer nothing can be sent.

    `waits`: not before a call of the holder's own to the same target has ended, so that there are never more than its
    cap.
    """

    request: Request
    purpose: Purpose
    number: int
    jti: UUID
    kid: str
    signer: Signer | None
    lease_until: datetime
    started_at: datetime
    waits: bool = False


def claim(
    *, room: int, by: Actor, now: datetime, finished: Collection[UUID] = (), ahead: Mapping[int, int] | None = None
) -> list[Claimed]:
    """Take at most `room` requests that are due and that their targets' caps allow.

    `finished`: requests whose call is over and whose answer is about to be settled by the caller; they are no longer in
    flight at their target. `ahead`: of a target to which the caller has calls in flight, how many to take besides that
    wait for these; every lease counts as in flight for everyone else, so that the cap holds whoever claims.
    A lease that ran out is a try of unknown fate. Raises nothing a target could cause.
    """
    ahead = ahead or {}
    waiting = list(_waiting(now)[: max(room, len(ahead))])
    if not waiting:
        return []
    key = keys.active(by=by, now=now)
    claimed: list[Claimed] = []
    for left, target in zip(range(len(waiting), 0, -1), waiting, strict=True):
        share = -(-(room - sum(not one.waits for one in claimed)) // left)  # what is left, evenly, rounded up
        with transaction.atomic():
            claimed += _claim_of(target, key, share, ahead.get(target.pk, 0), now=now, finished=finished)
    return claimed


def due(now: datetime) -> QuerySet[Request]:
    """Return the requests that something is to be done about now and that nobody holds."""
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    return Request.objects.filter(free, next_try_at__lte=now, suspended_at=None)


def _waiting(now: datetime) -> QuerySet[Target]:
    """Return the targets that have something due and may be called, those first that waited longest for an answer."""
    callable_ = Q(probe_at=None) | Q(probe_at__lte=now)
    asked = Target.objects.filter(callable_, Exists(due(now).filter(target=OuterRef("pk"))), disabled_at=None)
    return asked.exclude(registered_at=None).order_by(F("last_answer_at").asc(nulls_first=True))


def _claim_of(
    target: Target, key: SigningKey, share: int, ahead: int, *, now: datetime, finished: Collection[UUID]
) -> list[Claimed]:
    locked = Target.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=target.pk).first()
    if locked is None or locked.disabled_at is not None:
        return []  # another worker claims for it right now, and will come back for what is left
    held = Request.objects.filter(target=locked, lease_until__gt=now).exclude(pk__in=finished).count()
    cap, ahead = (1, 0) if locked.unreachable_since else (locked.max_in_flight, ahead)
    free = max(min(share, cap - held), 0)
    rows = _rows(locked, free + ahead, now)
    claimed = _taken(rows, key, now=now) if rows else []
    return claimed[:free] + [replace(one, waits=True) for one in claimed[free:]]


def _rows(target: Target, room: int, now: datetime) -> list[Request]:
    if room <= 0:
        return []
    found = due(now).filter(target=target).order_by("next_try_at", "pk")
    locked = found.select_for_update(of=("self",), no_key=True, skip_locked=True).values_list("pk", flat=True)
    # What they refer to is read apart: joined with everything that is due, it took 40 ms where thousands are.
    rows = Request.objects.filter(pk__in=list(locked[:room])).select_related("effect__group", "revocation")
    return _with_what_they_share(list(rows.order_by("next_try_at", "pk")), target)


_versions: dict[int, ToolVersion] = {}  # added and never edited


def _with_what_they_share(rows: list[Request], target: Target) -> list[Request]:
    """Fill in what many requests have in common, each read once."""
    unknown = {row.tool_version_id for row in rows} - _versions.keys()
    if unknown:
        _versions.update(ToolVersion.objects.select_related("tool").in_bulk(unknown))
    wanted = {row.user_id for row in rows} | {_group(row).owner_id for row in rows}
    people = get_user_model()._default_manager.in_bulk(wanted)
    agents = Agent.objects.in_bulk({row.agent_id for row in rows if row.agent_id})
    for row in rows:
        row.target, row.tool_version, row.user = target, _versions[row.tool_version_id], people[row.user_id]
        row.agent = agents[row.agent_id] if row.agent_id else None
        _group(row).owner = people[_group(row).owner_id]
    return rows


def _group(row: Request) -> Group:
    return row.effect.group


def _taken(rows: Sequence[Request], key: SigningKey, *, now: datetime) -> list[Claimed]:
    _close_crashed([row for row in rows if row.lease_until is not None], now=now)
    until = now + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)
    sends = [row for row in rows if _purpose(row) is Purpose.SEND]
    asks = [row.pk for row in rows if row not in sends]
    counted = {"tries": F("tries") + 1, "attempted": F("attempted") + 1}
    Request.objects.filter(pk__in=[row.pk for row in sends]).update(lease_until=until, **counted)
    if asks:
        Request.objects.filter(pk__in=asks).update(lease_until=until)
    for row in rows:
        row.lease_until = until
    for row in sends:
        row.tries, row.attempted = row.tries + 1, row.attempted + 1
    signer = _signer(key)
    claimed = [_claimed(row, key, signer, until, now) for row in rows]
    Attempt.objects.bulk_create([attempt_of(one) for one in claimed if one.purpose is Purpose.SEND])
    return claimed


def _close_crashed(rows: Sequence[Request], *, now: datetime) -> None:
    """Take a send whose process is gone for what it is: it may have arrived. The status is asked first where it can."""
    if not rows:
        return
    open_ = Attempt.objects.filter(request__in=rows, ended_at=None, purpose=Purpose.SEND)
    crashed = set(open_.values_list("request_id", flat=True))
    open_.update(ended_at=now, kind="no answer", detail=ENDED)
    for row in rows:
        if row.pk in crashed:
            row.maybe_at = row.maybe_at or now
            row.asks_first = row.state == EffectState.REQUESTING and bool(row.status_url or row.read_path)
            row.save(update_fields=["maybe_at", "asks_first"])


def _purpose(row: Request) -> Purpose:
    return Purpose.SEND if row.state == EffectState.REQUESTING and not row.asks_first else Purpose.ASK


def _signer(key: SigningKey) -> Signer | None:
    try:
        return signer_of(key)
    except CannotSignError:
        return None


def _claimed(row: Request, key: SigningKey, signer: Signer | None, until: datetime, now: datetime) -> Claimed:
    purpose = _purpose(row)
    return Claimed(
        request=row,
        purpose=purpose,
        number=row.attempted if purpose is Purpose.SEND else 0,
        jti=uuid.uuid4(),
        kid=key.kid,
        signer=signer,
        lease_until=until,
        started_at=now,
    )


def attempt_of(one: Claimed, *, number: int = 0) -> Attempt:
    """Return the unsaved row of a try; a question gets its number when its answer is worth keeping."""
    row = one.request
    return Attempt(
        request=row,
        number=number or one.number,
        purpose=one.purpose,
        jti=one.jti,
        kid=one.kid,
        method=row.method if one.purpose is Purpose.SEND else "GET",
        path=row.path if one.purpose is Purpose.SEND else (row.status_url or row.read_path),
        started_at=one.started_at,
    )
