"""How far has what was asked of targets got? Requests as pages show them, one by one and summed up by group."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q

from sideeffects import policies, requestwords
from sideeffects.actors import Actor
from sideeffects.models import Effect, Group, Request
from sideeffects.transitions import EFFECT_TABLE, EffectState
from sideeffects.words import Words

OPEN = [EffectState.REQUESTING, EffectState.COMPENSATING, EffectState.UNKNOWN]
MOST = 200  # requests decided about at once on a page
UNSETTLED = [EffectState.REQUESTING, EffectState.COMPENSATING]


@dataclass(frozen=True)
class Asked:
    """What is open of one group at its targets: since when, how much, and what of it needs someone to look."""

    since: datetime | None = None
    open_since: datetime | None = None
    stale_at: datetime | None = None
    unanswered: int = 0
    person: int = 0
    suspended: int = 0


NOTHING = Asked()


def asked_of(groups: Iterable[UUID]) -> dict[UUID, Asked]:
    """Return what is open of each of these groups, in one query; a group without requests is left out."""
    rows = Request.objects.filter(effect__group__in=list(groups), current=True).order_by().values("effect__group")
    summed = rows.annotate(
        since=Min("asked_at", filter=Q(state__in=UNSETTLED)),
        unchanged=Min("state_at", filter=Q(state__in=OPEN)),
        stale=Min("stale_at", filter=Q(state__in=OPEN)),
        unanswered=Count("pk", filter=Q(state=EffectState.REQUESTING, sent_at__isnull=False)),
        person=Count("pk", filter=Q(needs_person_since__isnull=False)),
        suspended=Count("pk", filter=Q(suspended_at__isnull=False, state__in=UNSETTLED)),
    )
    return {
        one["effect__group"]: Asked(
            since=one["since"],
            open_since=one["unchanged"],
            stale_at=one["stale"],
            unanswered=one["unanswered"],
            person=one["person"],
            suspended=one["suspended"],
        )
        for one in summed
    }


@dataclass(frozen=True)
class Asking:
    """One request as a page shows it."""

    row: Request

    @property
    def state(self) -> EffectState:
        """Return where it stands."""
        return EffectState(self.row.state)

    @property
    def words(self) -> Words:
        """Return the sentence that says where it stands."""
        row = self.row
        return requestwords.of_request(
            requestwords.RequestFacts(
                state=self.state,
                target=row.target.name,
                asked_at=row.asked_at,
                state_at=row.state_at,
                tries=row.attempted,
                sent=row.sent_at is not None,
                carried=row.lease_until is not None,
                suspended=row.suspended_at is not None,
                disabled=row.target.disabled_at is not None,
                unreachable=row.target.unreachable_since is not None,
                detail=row.detail,
                attested_by=row.attested_by.partition(":")[2],
            )
        )

    @property
    def may_have_left(self) -> bool:
        """Say whether a try has left, or is under way now, so that it is not "not sent"."""
        return self.row.sent_at is not None or self.row.lease_until is not None

    @property
    def is_open(self) -> bool:
        """Say whether the target's word is still to come."""
        return self.row.current and self.state in OPEN

    @property
    def stale_at(self) -> datetime | None:
        """Return from when on it counts as stale, also where no sweep has stamped it yet."""
        return self.row.stale_at if self.is_open else None

    @property
    def was_asked_since(self) -> bool:
        """Say whether the target was asked how it stands, so that not its silence is what is stale."""
        return self.row.asked_status > 0

    @property
    def next_at(self) -> datetime | None:
        """Return when the next try is due, where one is; a target that is down decides by its own probe."""
        row = self.row
        waits = row.suspended_at is None and row.target.disabled_at is None and row.lease_until is None
        if row.next_try_at is None or not waits:
            return None
        probe = row.target.probe_at if row.target.unreachable_since else None
        return max(row.next_try_at, probe) if probe else row.next_try_at

    @property
    def asks_next(self) -> bool:
        """Say whether the next try is a question and not the compensation itself."""
        return self.row.asks_first or self.state is not EffectState.REQUESTING

    @property
    def detail(self) -> str:
        """Return what came last, where its sentence does not say so."""
        said = str(self.words).casefold()
        return "" if self.row.detail.casefold() in said or self.state is EffectState.ATTESTED else self.row.detail

    @property
    def can_retry(self) -> bool:
        """Say whether asking again would do something that does not happen by itself."""
        if not self.row.current or self.row.suspended_at is not None or (self.state, "request") not in EFFECT_TABLE:
            return False
        return self.state is not EffectState.REQUESTING or self.row.needs_person_since is not None

    @property
    def can_attest(self) -> bool:
        """Say whether a person's word could stand for the target's; not before the target had any chance."""
        if not self.row.current or (self.state, "attest") not in EFFECT_TABLE:
            return False
        return self.state is not EffectState.REQUESTING or bool(self.row.needs_person_since or self.row.stale_since)


def current(effects: Iterable[Effect]) -> dict[Any, Asking]:
    """Return the request that is carried now of each effect that has one, in one query."""
    rows = Request.objects.filter(effect__in=list(effects), current=True).select_related("target")
    return {row.effect_id: Asking(row) for row in rows}


def with_askings(effects: Iterable[Effect]) -> list[Effect]:
    """Return the effects, each with the request that is carried now as `asking`, in one query."""
    rows = list(effects)
    askings = current(rows)
    for row in rows:
        row.asking = askings.get(row.pk)  # type: ignore[attr-defined]  # (only what an answer says)
    return rows


def _of_group(group: Group, wanted: Q) -> list[Asking]:
    """Return the first of the current requests about a group's members, in their order."""
    rows = Request.objects.filter(wanted, effect__group=group, current=True).select_related("target", "effect")
    return [Asking(row) for row in rows.order_by("effect__position")[:MOST]]


def retryable(group: Group, *, by: Actor, now: datetime) -> list[Asking]:
    """Return what of a group this person may have asked again now, the first of it where it is more than a page."""
    stuck = Q(state__in=[EffectState.REFUSED, EffectState.UNKNOWN]) | Q(needs_person_since__isnull=False)
    found = _of_group(group, stuck) if policies.may_decide(by, group) else []
    return [one for one in found if one.can_retry and not policies.window_is_closed(by, one.row.effect, now=now)]


def attestable(group: Group, *, by: Actor) -> list[Asking]:
    """Return what of a group this person's word may settle, the first of it where it is more than a page."""
    unsettled = Q(state__in=[*OPEN, EffectState.REFUSED])
    found = _of_group(group, unsettled) if policies.may_decide(by, group) else []
    return [one for one in found if one.can_attest]
