"""What is unresolved, by cause and by age, and which is the oldest? The same numbers for pages, API and metrics."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Case, CharField, Count, F, Min, Q, QuerySet, Value, When

from sideeffects.models import Group, Request, Target
from sideeffects.transitions import EffectState, GroupState


class Cause(StrEnum):
    """Why something is unresolved: each request and each call has exactly one."""

    PERSON = "needs a person"
    SUSPENDED = "suspended"
    NOT_SENT = "not sent"
    NO_ANSWER = "no usable answer"
    WAITING = "waiting for the target"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    IN_FLIGHT = "in flight"
    LOST = "lost"


AGES: dict[str, timedelta | None] = {
    "under 5 min": timedelta(minutes=5),
    "under an hour": timedelta(hours=1),
    "under a day": timedelta(days=1),
    "under a week": timedelta(days=7),
    "older": None,
}
STATES = [EffectState.REQUESTING, EffectState.COMPENSATING, EffectState.UNKNOWN, EffectState.REFUSED]


@dataclass
class Share:
    """All that is unresolved for one cause: how many of each age, and since when the oldest."""

    cause: Cause
    ages: dict[str, int] = field(default_factory=lambda: dict.fromkeys(AGES, 0))
    oldest_at: datetime | None = None
    oldest: Request | Group | None = None

    @property
    def count(self) -> int:
        """Return how many there are."""
        return sum(self.ages.values())


def requests(groups: QuerySet[Group]) -> QuerySet[Any]:
    """Return the requests of these groups that are unresolved, each with its cause."""
    cause = Case(
        When(state=EffectState.REFUSED, then=Value(Cause.REFUSED.value)),
        When(state=EffectState.UNKNOWN, then=Value(Cause.UNKNOWN.value)),
        When(suspended_at__isnull=False, then=Value(Cause.SUSPENDED.value)),
        When(needs_person_since__isnull=False, then=Value(Cause.PERSON.value)),
        When(state=EffectState.COMPENSATING, then=Value(Cause.WAITING.value)),
        When(sent_at__isnull=False, then=Value(Cause.NO_ANSWER.value)),
        default=Value(Cause.NOT_SENT.value),
        output_field=CharField(),
    )
    return Request.objects.filter(current=True, state__in=STATES, effect__group__in=groups).annotate(cause=cause)


def calls(groups: QuerySet[Group]) -> QuerySet[Any]:
    """Return the calls among these groups that have not landed, each with its cause."""
    cause = Case(
        When(state=GroupState.LOST, then=Value(Cause.LOST.value)),
        default=Value(Cause.IN_FLIGHT.value),
        output_field=CharField(),
    )
    return groups.filter(state__in=[GroupState.OPEN, GroupState.LOST]).annotate(cause=cause)


def shares(groups: QuerySet[Group], *, now: datetime) -> list[Share]:
    """Return what is unresolved among these groups, by cause in the order of `Cause`; none that is empty."""
    found: dict[Cause, Share] = {}
    _count(found, requests(groups), "state_at", now)
    _count(found, calls(groups), "opened_at", now)
    for share in found.values():
        share.oldest = _oldest(share, groups)
    return [found[cause] for cause in Cause if cause in found]


def _count(found: dict[Cause, Share], rows: QuerySet[Any], since: str, now: datetime) -> None:
    known = [
        When(Q(**{f"{since}__gt": now - limit}), then=Value(name)) for name, limit in AGES.items() if limit is not None
    ]
    age = Case(*known, default=Value("older"), output_field=CharField())
    counted = rows.order_by().annotate(age=age).values("cause", "age")
    for one in counted.annotate(number=Count("pk"), first=Min(F(since))):
        share = found.setdefault(Cause(one["cause"]), Share(Cause(one["cause"])))
        share.ages[one["age"]] += one["number"]
        share.oldest_at = min(share.oldest_at or one["first"], one["first"])


def _oldest(share: Share, groups: QuerySet[Group]) -> Request | Group | None:
    is_call = share.cause in {Cause.IN_FLIGHT, Cause.LOST}
    rows = calls(groups) if is_call else requests(groups).select_related("effect", "target")
    found: Request | Group | None = (
        rows.filter(cause=share.cause).order_by("opened_at" if is_call else "state_at", "pk").first()
    )
    return found


def unreachable() -> Iterable[Target]:
    """Return the targets that are down, longest first, each with how many requests wait for it: one fact a target."""
    waiting = Count("requests", filter=Q(requests__current=True, requests__state=EffectState.REQUESTING))
    return Target.objects.exclude(unreachable_since=None).annotate(waiting=waiting).order_by("unreachable_since")
