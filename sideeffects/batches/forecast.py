"""What would a batch find if it were asked for now? Counted without locks, to show it; decides nothing."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from sideeffects import dependants, queries
from sideeffects.actors import Actor
from sideeffects.batches.scope import Scope
from sideeffects.models import Effect, Group
from sideeffects.services import foresight
from sideeffects.transitions import EffectState, GroupState, RevokeClass

LOOKED_AT = 200  # actions whose rows and dependants are looked at one by one; of more, nobody waits for that
SOON = timedelta(hours=1)  # before which a window's end is named


@dataclass(frozen=True)
class Windows:
    """Effects whose target may not undo them any more, as declared: `over`, or `soon`, within the hour."""

    over: int = 0
    soon: int = 0


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The numbers before the click. `seen` names the selection: whoever starts with it gets this one or is told.

    `by_class`: here, asked (by target), out of reach (by target) and not revocable count effects that stand. `already`
    counts actions in which nothing is left to do. `edited` and `built_on_outside` are None where nobody looked.
    """

    as_of: datetime
    groups: int
    effects: int
    owners: int
    by_class: dict[str, Any]
    already: int
    in_flight: int
    failed: int
    conflicts: int
    windows: Windows
    edited: int | None
    built_on_outside: int | None
    seen: str
    needs_reason: bool


def preview(*, scope: Scope, by: Actor, now: datetime) -> Preview:
    """Return what a batch of this scope would find, in a bounded number of queries; raises NotFoundError."""
    groups = scope.groups_for(by)
    counted = groups.aggregate(
        groups=Count("pk"),
        owners=Count("owner", distinct=True),
        in_flight=Count("pk", filter=Q(state__in=[GroupState.OPEN, GroupState.LOST])),
        failed=Count("pk", filter=Q(state=GroupState.FAILED)),
        others=Count("pk", filter=~Q(owner=by.user)),
    )
    needs_reason = counted.pop("others") > 0
    classes, effects, windows = _classes(groups, now=now)
    edited, outside = _one_by_one(groups, counted["groups"])
    return Preview(
        as_of=now,
        effects=effects,
        by_class=classes,
        already=_already(groups),
        conflicts=queries.with_conflict(groups, is_open=True).count(),
        windows=windows,
        edited=edited,
        built_on_outside=outside,
        seen=seen(counted["groups"], groups.order_by("-pk").values_list("pk", flat=True).first()),
        needs_reason=needs_reason,
        **counted,
    )


def seen(count: int, newest: UUID | None) -> str:
    """Return what tells a selection from another that comes of the same scope later."""
    return hashlib.sha256(f"{count} {newest}".encode()).hexdigest()[:32]


def _classes(groups: QuerySet[Group], *, now: datetime) -> tuple[dict[str, Any], int, Windows]:
    """Return the effects that stand by how far a revoke of them gets, how many there are in all, and their windows."""
    askable = ExpressionWrapper(Q(target__registered_at__isnull=False), output_field=BooleanField())
    alike = Effect.objects.filter(group__in=groups.order_by()).order_by().annotate(askable=askable)
    found: dict[str, Any] = {"here": 0, "asked": defaultdict(int), "out of reach": defaultdict(int), "not revocable": 0}
    every = over = soon = 0
    kinds = alike.values("state", "revoke_class", "target__name", "askable").annotate(
        number=Count("pk"),
        over=Count("pk", filter=Q(undo_expires_at__lt=now)),
        soon=Count("pk", filter=Q(undo_expires_at__gte=now, undo_expires_at__lt=now + SOON)),
    )
    for one in kinds:
        every += one["number"]
        if one["state"] != EffectState.ACTIVE:
            continue
        if one["revoke_class"] == RevokeClass.EXTERNAL:
            found["asked" if one["askable"] else "out of reach"][one["target__name"] or ""] += one["number"]
            over, soon = over + one["over"], soon + one["soon"]
        else:
            found["here" if one["revoke_class"] == RevokeClass.LOCAL else "not revocable"] += one["number"]
    classes = {name: dict(value) if isinstance(value, defaultdict) else value for name, value in found.items()}
    return classes, every, Windows(over, soon)


def _already(groups: QuerySet[Group]) -> int:
    """Return in how many actions nothing is left to do: something was taken back, and nothing stands that could be."""
    members = Effect.objects.filter(group=OuterRef("pk"))
    stands = members.filter(state=EffectState.ACTIVE).exclude(revoke_class=RevokeClass.NONE)
    was_asked = members.exclude(state=EffectState.ACTIVE)
    return groups.filter(~Exists(stands), Exists(was_asked), state=GroupState.LANDED).count()


def _one_by_one(groups: QuerySet[Group], count: int) -> tuple[int | None, int | None]:
    """Return how many actions hold rows changed since, and how many outside build on them; None of too many."""
    if count > LOOKED_AT:
        return None, None
    rows = list(groups.select_related("owner"))
    own = {row.pk for row in rows}
    later = {key for some in dependants.of(own).values() for key in some}
    return len(foresight.edited(rows)), len(later - own)
