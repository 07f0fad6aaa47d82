"""Let what has lain in the trash until its date leave for good: announced before, on the log, held where it must be."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from audit import log
from sideeffects import queries
from sideeffects.actors import Actor, party_of
from sideeffects.models import Effect, Group, Revocation
from sideeffects.presenters import moment_text
from sideeffects.services.told import notify_of
from sideeffects.targets import local
from sideeffects.transitions import EffectState, Operation, effect_after

NOTICE = timedelta(days=3)  # how long before its date a purge is announced
LEAST = timedelta(days=1)  # between announcement and purge, also where nothing ran when it was to be announced
AGAIN = timedelta(hours=6)  # after which what could not be purged is tried again
GO = 20  # revocations in one transaction


@dataclass(frozen=True)
class _Due:
    """One revocation of a locked group, with the members of the group; what of them lies in the trash goes."""

    revocation: Revocation
    group: Group
    members: Sequence[Effect]

    @cached_property
    def lying(self) -> list[Effect]:
        return [
            effect
            for effect in self.members
            if effect.revocation_id == self.revocation.pk
            and effect.state == EffectState.REVOKED
            and effect.operation == Operation.CREATE
        ]

    @property
    def until(self) -> datetime:
        """Return when the purge is due: as fixed at the revoke, and not before it was announced."""
        fixed = max(effect.purge_at for effect in self.lying if effect.purge_at)
        announced = self.revocation.purge_announced_at
        return max(fixed, announced + LEAST) if announced else fixed

    def entry(self, action: str, data: dict[str, object], *, by: Actor) -> log.Entry:
        principal = self.members[0]
        return log.Entry(
            action=action,
            target=(principal.type, principal.object_id),
            actor=by.party,
            owner=party_of(self.group.owner),
            group=str(self.group.pk),
            subjects=[(effect.type, effect.object_id) for effect in self.lying],
            data={"revocation": str(self.revocation.pk), **data},
        )

    def named(self) -> str:
        first, *others = self.lying
        return f"{first.type} {first.object_id}" + (f" and {len(others)} more" if others else "")


def announce(*, by: Actor, now: datetime) -> int:
    """Tell owners what is soon purged, once a revocation, and return of how many revocations.

    What a conflict holds is announced when nothing holds it any more. Writes `purge_announced`.
    """
    total = 0
    while done := _announce(by=by, now=now):
        total += done
    return total


def purge(*, by: Actor, now: datetime) -> int:
    """Purge what is due and was announced, group by group, and return how many revocations that emptied.

    The date is the one fixed at the revoke. A group whose conflict is open, or of which a row cannot go, is held and
    says why; its neighbours go. Writes `trash_purged`, `purge_held`.
    """
    total, tried = 0, True
    while tried:
        ids = list(_overdue(now=now).order_by("pk").values_list("pk", flat=True)[:GO])
        done = _attempt(ids, by=by, now=now) if ids else []
        tried = bool(done)
        total += sum(done)
    return total


def _lying(before: datetime) -> QuerySet[Revocation]:
    """Return the revocations of which something has to leave the trash before a moment, and no conflict holds it."""
    lying = Effect.objects.filter(state=EffectState.REVOKED, operation=Operation.CREATE, purge_at__lte=before)
    free = queries.with_conflict(Group.objects.all(), is_open=False)
    return Revocation.objects.filter(pk__in=lying.values("revocation"), group__in=free)


def _overdue(*, now: datetime) -> QuerySet[Revocation]:
    tried = Q(purge_tried_at=None) | Q(purge_tried_at__lte=now - AGAIN)
    return _lying(now).filter(tried, purge_announced_at__lte=now - LEAST)


def _locked(ids: Iterable[UUID], still: QuerySet[Revocation]) -> list[_Due]:
    """Lock the groups of these revocations in pk order, save those that another has, and look again what is due."""
    groups = Group.objects.filter(revocations__in=list(ids)).values("pk")
    rows = Group.objects.select_for_update(of=("self",), skip_locked=True).select_related("owner")
    locked = {row.pk: row for row in rows.filter(pk__in=groups).order_by("pk")}
    members = queries.members_of(list(locked))
    found = still.filter(pk__in=list(ids), group__in=list(locked)).order_by("group", "pk")
    return [_Due(row, locked[row.group_id], members[row.group_id]) for row in found]


def _announce(*, by: Actor, now: datetime) -> int:
    with transaction.atomic():
        soon = _lying(now + NOTICE).filter(purge_announced_at=None)
        due = _locked(soon.order_by("pk").values_list("pk", flat=True)[:GO], soon)
        Revocation.objects.filter(pk__in=[one.revocation.pk for one in due]).update(purge_announced_at=now)
        for one in due:
            one.revocation.purge_announced_at = now
        notify_of([(one.group, "goes for good", f"{one.named()}, {moment_text(one.until)}") for one in due], now=now)
        entries = [
            one.entry("purge_announced", {"purge_at": one.until.isoformat(), "objects": str(len(one.lying))}, by=by)
            for one in due
        ]
        log.append(entries, now=now)
    return len(due)


def _attempt(ids: Sequence[UUID], *, by: Actor, now: datetime) -> list[bool]:
    """Purge all of them set-wise; where a row cannot go, bisect until its revocation stands alone, which is held.

    Returns for each that was settled whether it was purged.
    """
    try:
        with transaction.atomic():
            return [True] * _purge(ids, by=by, now=now)
    except local.MembersFailedError as error:
        if len(ids) == 1:
            return _hold(ids[0], f"{', '.join(error.members[: local.NAMED])} {error.why}", by=by, now=now)
        half = len(ids) // 2
        return [done for part in (ids[:half], ids[half:]) for done in _attempt(part, by=by, now=now)]


def _purge(ids: Sequence[UUID], *, by: Actor, now: datetime) -> int:
    due = _locked(ids, _overdue(now=now))
    pieces = [local.Piece(effect.type, effect.object_id, one.group.owner) for one in due for effect in one.lying]
    absent = local.purge(pieces, by=str(by.party), now=now)
    entries = [one.entry("trash_purged", _purged(one, absent), by=by) for one in due]
    gone = [effect for one in due for effect in one.lying]
    for effect in gone:
        effect.state = effect_after(EffectState(effect.state), "purge")
    Effect.objects.filter(pk__in=[effect.pk for effect in gone]).update(state=EffectState.PURGED, state_at=now)
    free = {"purge_tried_at": now, "purge_held_since": None, "purge_held_why": ""}
    Revocation.objects.filter(pk__in=[one.revocation.pk for one in due]).update(**free)
    log.append(entries, now=now)
    return len(due)


def _purged(one: _Due, absent: set[tuple[str, str]]) -> dict[str, object]:
    members = [
        {"type": effect.type, "id": effect.object_id}
        | ({"detail": "was absent already, not by this"} if (effect.type, effect.object_id) in absent else {})
        for effect in one.lying
    ]
    announced = one.revocation.purge_announced_at
    return {
        "purge_at": min(effect.purge_at for effect in one.lying if effect.purge_at).isoformat(),
        "announced_at": announced.isoformat() if announced else "",
        "counts": dict(Counter(effect.type for effect in one.lying)),
        "members": members,
    }


def _hold(key: UUID, why: str, *, by: Actor, now: datetime) -> list[bool]:
    """Say why a revocation's rows stay past their date, once for each reason; returns one False, or none if locked."""
    with transaction.atomic():
        for one in _locked([key], _overdue(now=now)):
            row, news = one.revocation, one.revocation.purge_held_why != why[:500]
            row.purge_tried_at, row.purge_held_since = now, row.purge_held_since or now
            row.purge_held_why = why[:500]
            row.save(update_fields=["purge_tried_at", "purge_held_since", "purge_held_why"])
            if news:
                notify_of([(one.group, "cannot be purged", why)], now=now)
                log.append([one.entry("purge_held", {"why": why}, by=by)], now=now)
            return [False]
    return []
