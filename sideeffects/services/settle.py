"""Settle what calls came to: each answer by the one table, with its try, its stamps and its record."""

import logging
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from sideeffects.actors import Actor
from sideeffects.models import Attempt, Group, Request, Target
from sideeffects.services.carry_out import Called, asks_about_job
from sideeffects.services.claim import Purpose, attempt_of
from sideeffects.services.move import Moved, move, need_person, save
from sideeffects.services.told import tell
from sideeffects.targets.answers import Kind, Next, Phase, Verdict, of_read, of_send
from sideeffects.transitions import EffectState

logger = logging.getLogger(__name__)
ASK_SOON = 2.0  # seconds after which what has just been accepted, or may have arrived, is asked about
ASK_MOST = 3600.0
PROBE_MOST = 300.0
ANSWER_NOTED = timedelta(seconds=10)  # how exactly a target's last answer is known: each note would hold up a claim


def settle(*, called: Sequence[Called], by: Actor, now: datetime) -> None:
    """Settle a batch of calls in one transaction; where it fails, each on its own, so that one cannot hold the others.

    Whoever has lost the lease meanwhile keeps the answer as evidence and moves only by what the target accepted or
    did. Writes `COMPENSATE`, `person_needed`.
    """
    if not called:
        return
    try:
        with transaction.atomic():
            _settle(called, by=by, now=now)
    except Exception as error:  # noqa: BLE001  (whatever one answer makes fail, the others are settled)
        if len(called) == 1:
            key, kind = called[0].claimed.request.pk, type(error).__name__
            logger.error("%s is not settled (%s); its lease runs out", key, kind)  # noqa: TRY400  (its text may hold an answer)
            return
        for one in called:
            settle(called=[one], by=by, now=now)
        return
    _note_reach(called, now=now)


def lock(requests: Sequence[UUID], *, known: Mapping[UUID, Request] | None = None) -> dict[UUID, Request]:
    """Lock the groups of these requests and then the requests, in this order everywhere; who is absent is left out.

    `known`: rows read before, from which is taken what does not change while a request is carried.
    """
    groups = Group.objects.filter(effects__requests__in=list(requests)).values("pk")
    list(Group.objects.select_for_update(of=("self",)).filter(pk__in=groups).order_by("pk").values_list("pk"))
    related = ["effect"] if known else ["effect__group__owner", "target", "tool_version", "revocation"]
    locked = Request.objects.select_for_update(of=("self",), no_key=True).select_related(*related)
    rows = {row.pk: row for row in locked.filter(pk__in=list(requests)).order_by("pk")}
    for row in rows.values():
        if known:
            old = known[row.pk]
            row.target, row.tool_version, row.revocation = old.target, old.tool_version, old.revocation
            row.effect.group = old.effect.group
        row.effect.group.tool_version = row.tool_version  # the same, by how it was asked
    return rows


def _settle(called: Sequence[Called], *, by: Actor, now: datetime) -> None:
    known = {one.claimed.request.pk: one.claimed.request for one in called}
    rows = lock(list(known), known=known)
    moved = []
    for one in called:
        request = rows[one.claimed.request.pk]
        work = Moved(request, EffectState(request.effect.state))
        if request.lease_until == one.claimed.lease_until:
            _apply(work, one, now=now)
        else:
            _apply_late(work, one, now=now)
        moved.append(work)
    _keep(list(zip(moved, called, strict=True)), now=now)
    save(moved)
    tell(moved, by=by, now=now)


def phase_of(request: Request) -> Phase:
    """Return what is known of earlier tries."""
    if request.accepted_at or request.present_at:
        return Phase.ACCEPTED
    return Phase.UNKNOWN if request.maybe_at else Phase.FIRST


def _verdict(request: Request, one: Called, *, tries_left: bool) -> Verdict:
    if one.claimed.purpose is Purpose.SEND:
        can_ask = bool(one.status_url or request.status_url or request.read_path)
        return of_send(one.heard, phase=phase_of(request), can_ask=can_ask, tries_left=tries_left)
    return of_read(
        one.heard,
        phase=phase_of(request),
        state=EffectState(request.effect.state),
        of_job=asks_about_job(request),
        tries_left=tries_left,
    )


def _apply(work: Moved, one: Called, *, now: datetime) -> None:
    """Take what came back for what it is, and decide what is next."""
    request = work.request
    request.lease_until = None
    is_send = one.claimed.purpose is Purpose.SEND
    verdict = _verdict(request, one, tries_left=_tries_left(request))
    _stamp(request, one, verdict, is_send=is_send)
    if one.status_url:
        request.status_url = one.status_url
    if not _overtaken(request, one):
        if move(work, verdict.action, detail=verdict.detail, now=now) and verdict.action in {"confirm", "refuse"}:
            request.word_at = one.answered_at
        request.detail = verdict.detail[:500]
        request.flag = verdict.flag or ("elsewhere" if one.elsewhere else request.flag)
        _schedule(work, one, verdict, now=now)
    elif request.effect.state == EffectState.COMPENSATING and (request.status_url or request.read_path):
        request.next_try_at = now + timedelta(seconds=ASK_SOON)


def _tries_left(request: Request) -> bool:
    """Say whether the bound allows another try; what was accepted is asked about until it is settled."""
    if request.effect.state == EffectState.COMPENSATING:
        return True
    most = settings.REQUEST_TRIES
    return request.tries < most and request.asked_status < most


def _overtaken(request: Request, one: Called) -> bool:
    """Say whether a word that came in by itself since this try began is newer than its answer."""
    return request.word_heard_at is not None and request.word_heard_at >= one.claimed.started_at


def _apply_late(work: Moved, one: Called, *, now: datetime) -> None:
    """Keep what a try came to whose lease ran out; what the target accepted or did, it did."""
    verdict = _verdict(work.request, one, tries_left=True)
    if verdict.action in {"accept", "confirm"} and not _overtaken(work.request, one):
        move(work, verdict.action, detail=verdict.detail, now=now)
    if verdict.action == "accept" and one.status_url:
        work.request.status_url, work.request.next_try_at = one.status_url, now


def _stamp(request: Request, one: Called, verdict: Verdict, *, is_send: bool) -> None:
    if not is_send:
        request.asked_status += 1
        request.asked_status_at = one.ended_at
        request.present_at = one.ended_at if verdict.present else request.present_at
        return
    if one.heard.kind is Kind.NOT_LEFT:
        request.tries = max(request.tries - 1, 0)  # nothing was asked of the target by it
        return
    request.sent_at = request.sent_at or one.claimed.started_at
    if verdict.maybe:
        request.maybe_at = request.maybe_at or one.ended_at


def _schedule(work: Moved, one: Called, verdict: Verdict, *, now: datetime) -> None:
    request = work.request
    request.asks_first = verdict.next is Next.ASK and request.state == EffectState.REQUESTING
    if verdict.next is Next.PERSON:
        need_person(work, detail=verdict.detail, now=now)
    elif verdict.next is Next.NOTHING or request.effect.state not in {EffectState.REQUESTING, EffectState.COMPENSATING}:
        request.next_try_at = None
    else:
        request.next_try_at = now + timedelta(seconds=_wait(request, one, verdict))


def _wait(request: Request, one: Called, verdict: Verdict) -> float:
    """Return the seconds until the next try: as the target asks, else doubled, with jitter."""
    jitter = 0.75 + secrets.randbelow(500) / 1000
    if one.heard.kind is Kind.NOT_LEFT and one.down:
        return 0.0  # the target's own probe decides when
    if one.heard.retry_after is not None:
        return max(one.heard.retry_after, 1.0) * max(jitter, 1.0)
    if verdict.next is Next.ASK:
        turns = request.asked_status if one.claimed.purpose is Purpose.ASK else 0
        return min(ASK_SOON * 2.0 ** min(turns, 20), ASK_MOST) * jitter
    return min(settings.RETRY_SECONDS * 2.0 ** min(max(request.tries - 1, 0), 20), settings.RETRY_MOST_SECONDS) * jitter


def _keep(all_: Sequence[tuple[Moved, Called]], *, now: datetime) -> None:
    """End the tries' rows, those that came to the same in one statement."""
    alike: dict[tuple[tuple[str, Any], ...], list[UUID]] = defaultdict(list)
    for work, one in all_:
        came = _came(work, one, now=now)
        if one.claimed.purpose is Purpose.SEND:
            alike[tuple(came.items())].append(one.claimed.jti)
        else:
            _keep_question(work, one, came)
    for items, tokens in alike.items():
        Attempt.objects.filter(jti__in=tokens).update(**dict(items))


def _came(work: Moved, one: Called, *, now: datetime) -> dict[str, Any]:
    return {
        "ended_at": now,
        "kind": one.heard.kind.value,
        "status": one.heard.status or None,
        "said": one.heard.said.value,
        "detail": (one.heard.why or work.request.detail)[:500],
        "digest": one.digest,
        "excerpt": one.excerpt,
    }


def _keep_question(work: Moved, one: Called, came: dict[str, Any]) -> None:
    """Keep a question where its answer says something new, or where it moved something."""
    request = work.request
    last = Attempt.objects.filter(request=request, purpose=Purpose.ASK).order_by("-number").first()
    if last and not work.moved and all(getattr(last, name) == came[name] for name in ("kind", "status", "digest")):
        return
    request.attempted += 1
    attempt = attempt_of(one.claimed, number=request.attempted)
    for name, value in came.items():
        setattr(attempt, name, value)
    attempt.save(force_insert=True)


def _note_reach(called: Sequence[Called], *, now: datetime) -> None:
    """Note of each target whether it could be reached: one fact, however many requests wait for it."""
    for pk in {one.claimed.request.target_id for one in called}:
        own = [one for one in called if one.claimed.request.target_id == pk]
        why = next((one.down for one in own if one.down), "")
        if why:
            _note_down(pk, why, now=now)
        elif any(one.heard.kind is not Kind.NOT_LEFT for one in own):
            back = {"unreachable_since": None, "unreachable_why": "", "unreachable_tries": 0, "probe_at": None}
            news = (
                Q(last_answer_at=None) | Q(last_answer_at__lt=now - ANSWER_NOTED) | Q(unreachable_since__isnull=False)
            )
            Target.objects.filter(news, pk=pk).update(last_answer_at=now, **back)


def _note_down(pk: int, why: str, *, now: datetime) -> None:
    target = Target.objects.get(pk=pk)
    wait = min(settings.RETRY_SECONDS * 2.0 ** min(target.unreachable_tries, 20), PROBE_MOST)
    Target.objects.filter(pk=pk).update(
        unreachable_since=target.unreachable_since or now,
        unreachable_why=why[:200],
        unreachable_tries=F("unreachable_tries") + 1,
        probe_at=now + timedelta(seconds=wait * (0.75 + secrets.randbelow(500) / 1000)),
    )
