"""What does the page of all that is unresolved show: numbers, picture, facts of targets, lines?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet
from django.utils.translation import gettext as _

from sideeffects import conflicts, lists, picture, presenters, queries, unresolved, words
from sideeffects.models import Fence, Group, Request, Target
from sideeffects.requested import Asking
from sideeffects.transitions import Operation
from sideeffects.unresolved import AGES, Cause, Share

PAGE = lists.PAGE
OF_CALLS = {Cause.IN_FLIGHT, Cause.LOST}
STUCK = {Cause.PERSON, Cause.SUSPENDED, Cause.UNKNOWN, Cause.REFUSED, Cause.LOST}  # nothing goes on by itself
OLD = ("under a week", "older")


@dataclass(frozen=True)
class Number:
    """How many there are for one cause, of which age, and which is the oldest."""

    share: Share

    @property
    def label(self) -> str:
        """Return the cause in words."""
        return _(self.share.cause.value.capitalize())

    @property
    def ages(self) -> list[tuple[str, int]]:
        """Return how many there are of each age."""
        return list(self.share.ages.items())

    @property
    def named(self) -> str:
        """Return what names the oldest: its object and its target, or its tool."""
        row = self.share.oldest
        if isinstance(row, Request):
            return f"{row.effect.type} {row.effect.object_id}, {row.target.name}"
        return row.tool if row else ""

    @property
    def group(self) -> UUID | None:
        """Return the action that the oldest belongs to."""
        row = self.share.oldest
        return row.effect.group_id if isinstance(row, Request) else row.pk if row else None


@dataclass(frozen=True)
class Fact:
    """One thing about one target that keeps all these requests waiting: one fact, however many they are."""

    target: Target
    cause: Cause
    count: int
    since: datetime

    @property
    def is_suspended(self) -> bool:
        """Say whether an admin has to look at the target before they go on."""
        return self.cause is Cause.SUSPENDED


@dataclass(frozen=True)
class Line:
    """One request that is unresolved."""

    asking: Asking

    @property
    def group(self) -> Group:
        """Return the action it belongs to."""
        return self.asking.row.effect.group

    @property
    def summary(self) -> words.Words:
        """Say what is asked to be undone, in the system's own words."""
        effect = self.asking.row.effect
        written = words.Written(Operation(effect.operation), effect.type, 1)
        return words.summary([written], principal_id=effect.object_id)


@dataclass(frozen=True)
class Waiting:
    """One call that has not landed, and when it turns stale."""

    group: Group

    @property
    def stale_at(self) -> datetime:
        """Return from when on it counts as stale, also where no sweep has stamped it yet."""
        return presenters.stale_at(self.group)


@dataclass(frozen=True)
class Backlog:
    """All that is unresolved among `groups`, as it is asked for by cause, target and place in the list."""

    groups: QuerySet[Group]
    query: Mapping[str, Any]
    now: datetime

    @property
    def is_readable(self) -> bool:
        """Say whether everything in the address can be meant."""
        return self.asked_cause in {"", *Cause} and self.cursor.is_readable

    @property
    def asked_cause(self) -> str:
        """Return the cause that is asked for, or nothing."""
        return str(self.query.get("cause", ""))

    @property
    def asked_target(self) -> str:
        """Return the target that is asked for, or nothing."""
        return str(self.query.get("target", ""))

    @property
    def narrowed(self) -> bool:
        """Say whether not everything is listed."""
        return bool(self.asked_cause or self.asked_target)

    @cached_property
    def cursor(self) -> lists.Cursor:
        """Return where the page begins."""
        return lists.Cursor.of(self.query)

    @cached_property
    def numbers(self) -> list[Number]:
        """Return how many there are for each cause that there is."""
        return [Number(share) for share in unresolved.shares(self.groups, now=self.now)]

    @property
    def total(self) -> int:
        """Return how many there are in all."""
        return sum(one.share.count for one in self.numbers)

    @property
    def oldest(self) -> Number | None:
        """Return the cause whose oldest is the oldest of all."""
        dated = [one for one in self.numbers if one.share.oldest_at]
        return min(dated, key=lambda one: one.share.oldest_at or self.now, default=None)

    @cached_property
    def conflicts(self) -> int:
        """Return how many declarations differ from what is held."""
        return conflicts.undecided(self.groups).count()

    @property
    def ages(self) -> list[str]:
        """Return the names of the ages."""
        return [_(name) for name in AGES]

    @property
    def picture(self) -> picture.Picture:
        """Return the numbers as a drawing: dashed is what is old, or stuck."""
        rows = {one.label: one.share.ages for one in self.numbers}
        dashed = [(one.label, age) for one in self.numbers for age in AGES if age in OLD or one.share.cause in STUCK]
        return picture.drawn(rows, list(AGES), dashed=dashed)

    @cached_property
    def facts(self) -> list[Fact]:
        """Return what of targets keeps requests waiting, longest first, in two queries."""
        counted = self._requests().filter(_folded()).order_by().values("target", "cause")
        found = list(counted.annotate(number=Count("pk"), first=Min("state_at")).order_by("first"))
        targets = Target.objects.in_bulk([one["target"] for one in found])
        return [Fact(targets[one["target"]], Cause(one["cause"]), one["number"], one["first"]) for one in found]

    @cached_property
    def _page(self) -> list[Request]:
        if not self.is_readable:
            return []
        rows = self._requests()
        if not self.asked_target:
            rows = rows.exclude(_folded())
        place = Request.objects.filter(pk=self.cursor.after).first() if self.cursor.after else None
        if place is not None:
            rows = rows.filter(Q(state_at__gt=place.state_at) | Q(state_at=place.state_at, pk__gt=place.pk))
        joined = rows.select_related("effect__group__owner", "effect__group__agent", "target")
        return list(joined.order_by("state_at", "pk")[: PAGE + 1])

    @property
    def lines(self) -> list[Line]:
        """Return a page of requests, those first that have not moved for longest."""
        return [Line(Asking(row)) for row in self._page[:PAGE]]

    @property
    def next(self) -> UUID | None:
        """Return the key after which the next page begins."""
        return self._page[PAGE - 1].pk if len(self._page) > PAGE else None

    @cached_property
    def calls(self) -> Sequence[Waiting]:
        """Return the calls that have not landed for longest; they are in no target's hands."""
        if not self.is_readable or self.asked_target or self.cursor.after:
            return []
        rows = unresolved.calls(self.groups)
        if self.asked_cause:
            rows = rows.filter(cause=self.asked_cause)
        return [
            Waiting(row) for row in rows.select_related("owner", "agent", "tool_version").order_by("opened_at")[:PAGE]
        ]

    @cached_property
    def fences(self) -> Sequence[Fence]:
        """Return the newest fences that wait, or that did not fire while what they were for still stands."""
        if not self.is_readable or self.narrowed or self.cursor.after:
            return []
        return list(queries.fences(self.groups)[:PAGE])

    @property
    def calls_in_all(self) -> int:
        """Return how many calls have not landed."""
        return sum(one.share.count for one in self.numbers if one.share.cause in OF_CALLS)

    def _requests(self) -> QuerySet[Any]:
        rows = unresolved.requests(self.groups)
        if self.asked_target:
            rows = rows.filter(target__name=self.asked_target)
        return rows.filter(cause=self.asked_cause) if self.asked_cause else rows


def _folded() -> Q:
    """Return which requests one fact of their target stands for."""
    down = Q(target__unreachable_since__isnull=False) | Q(target__disabled_at__isnull=False)
    return Q(cause=Cause.SUSPENDED) | (Q(cause=Cause.NOT_SENT) & down)
