"""Put on the log, and into the notices, what has become of requests: COMPENSATE again for every member that settles."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import BooleanField, Count, ExpressionWrapper, Q

from audit import log
from audit.wake import wake
from sideeffects import queries
from sideeffects.actors import Actor, party_of
from sideeffects.models import Attempt, Effect, Group, Notice, Request
from sideeffects.services.move import Moved
from sideeffects.services.remove import of_batch
from sideeffects.transitions import (
    EffectState,
    GroupState,
    Member,
    RevokeClass,
    is_complete,
    outcome_of,
    weakest,
)

wake_mail = partial(wake, "sideeffects.send_notices")


def tell(all_: Sequence[Moved], *, by: Actor, now: datetime) -> None:
    """Append COMPENSATE for each group of which a member moved, `person_needed` where nothing goes on by itself.

    Inside the caller's transaction, the rows saved. Writes `COMPENSATE`, `person_needed`.
    """
    moved = [one for one in all_ if one.moved]
    stuck = [one for one in all_ if one.person]
    attempts = _attempts([one.request for one in (*moved, *stuck)])
    entries = _compensate(moved, attempts, by=by)
    entries += [_person_needed(one, attempts, by=by) for one in stuck]
    if entries:
        log.append(entries, now=now)
    notify(
        [
            *((one.group, one.request, "refused") for one in moved if one.request.state == EffectState.REFUSED),
            *((one.group, one.request, "needs a person") for one in stuck),
        ],
        now=now,
    )


def notify(said: Iterable[tuple[Group, Request | None, str]], *, now: datetime) -> None:
    """Have owners and admins written to, after the commit."""
    _keep(
        [
            Notice(group=group, request=request, kind=kind, detail=request.detail if request else "", made_at=now)
            for group, request, kind in said
        ]
    )


def notify_of(said: Iterable[tuple[Group, str, str]], *, now: datetime) -> None:
    """Have people written to about groups, of a kind and with what is to be told, after the commit."""
    _keep([Notice(group=group, kind=kind, detail=detail[:500], made_at=now) for group, kind, detail in said])


def _keep(notices: Sequence[Notice]) -> None:
    if notices:
        Notice.objects.bulk_create(notices)
        transaction.on_commit(wake_mail, robust=True)


def announce(*, owner: Any, kind: str, about: str, detail: str, now: datetime) -> None:
    """Have an owner and the admins written to about something that is no action, after the commit."""
    Notice.objects.create(owner=owner, kind=kind, about=about[:200], detail=detail[:500], made_at=now)
    transaction.on_commit(wake_mail, robust=True)


def _attempts(requests: Sequence[Request]) -> dict[UUID, list[dict[str, str]]]:
    """Return how the log names the tries of each request: by number, token id, key and what came of each."""
    found: dict[UUID, list[dict[str, str]]] = defaultdict(list)
    names = ("number", "purpose", "jti", "kid", "kind", "status")
    tries = Attempt.objects.filter(request__in=requests).order_by("request", "number")
    for key, *values in tries.values_list("request", *names):
        words = {name: str(value if value is not None else "") for name, value in zip(names, values, strict=True)}
        found[key].append({"request": str(key), **words})
    return found


def _compensate(moved: Sequence[Moved], attempts: dict[UUID, list[dict[str, str]]], *, by: Actor) -> list[log.Entry]:
    groups: dict[UUID, list[Moved]] = defaultdict(list)
    for one in moved:
        groups[one.group.pk].append(one)
    if not groups:
        return []
    members, conflicts = _members(groups), queries.open_conflicts(groups)
    effects = [one.request.effect for one in moved]
    principals = {effect.group_id: effect for effect in effects if effect.position == 0}
    for effect in Effect.objects.filter(group__in=groups.keys() - principals.keys(), position=0):
        principals[effect.group_id] = effect
    return [
        _entry(rows, principals[key], members[key], attempts, conflict_open=key in conflicts, by=by)
        for key, rows in groups.items()
    ]


def _members(groups: Iterable[UUID]) -> dict[UUID, list[tuple[Member, int]]]:
    """Return how many members of each kind a group has: enough for its counts, however many there are."""
    found: dict[UUID, list[tuple[Member, int]]] = defaultdict(list)
    back = ExpressionWrapper(Q(restored_at__isnull=False), output_field=BooleanField())
    rows = Effect.objects.filter(group__in=list(groups)).annotate(back=back)
    alike = rows.values_list("group", "revoke_class", "state", "back").annotate(count=Count("pk")).order_by()
    for group, class_, state, restored, count in alike:
        found[group].append((Member(RevokeClass(class_), EffectState(state), restored=bool(restored)), count))
    return found


def _entry(
    rows: Sequence[Moved],
    principal: Effect,
    members: Sequence[tuple[Member, int]],
    attempts: dict[UUID, list[dict[str, str]]],
    *,
    conflict_open: bool,
    by: Actor,
) -> log.Entry:
    group, revocation = rows[0].group, rows[0].request.revocation
    counts: Counter[str] = Counter()
    for member, count in members:
        counts[outcome_of(member).value] += count
    effects = [one.request.effect for one in rows]
    alone = [member for member, _ in members]
    return log.Entry(
        action="COMPENSATE",
        target=(principal.type, principal.object_id),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        outcome=weakest(outcome_of(member) for member in alone).value,
        subjects=[
            *((effect.type, effect.object_id) for effect in effects if effect.object_id),
            *of_batch(revocation.batch_id),
        ],
        data={
            "revocation": str(revocation.pk),
            "tool": group.tool,
            "tool_version": group.version_number(),
            "trigger": revocation.trigger,
            "batch": str(revocation.batch_id or ""),
            "authority": revocation.authority,
            "reason": revocation.reason,
            "asked_by": revocation.asked_by,
            "settles": "true",
            "overrides": "false",
            "complete": is_complete(GroupState(group.state), alone, conflict_open=conflict_open),
            "conflict_open": conflict_open,
            "counts": dict(counts),
            "members": [_member(one) for one in rows],
            "attempts": [attempt for one in rows for attempt in attempts[one.request.pk]],
        },
    )


def _member(one: Moved) -> dict[str, str]:
    effect = one.request.effect
    words = {
        "type": effect.type,
        "id": effect.object_id,
        "operation": effect.operation,
        "target": one.request.target.name,
        "was": one.was.value,
        "outcome": outcome_of(effect.as_member()).value,
        "detail": one.request.detail,
    }
    return {name: value for name, value in words.items() if value}


def _person_needed(one: Moved, attempts: dict[UUID, list[dict[str, str]]], *, by: Actor) -> log.Entry:
    effect = one.request.effect
    return log.Entry(
        action="person_needed",
        target=(effect.type, effect.object_id),
        actor=by.party,
        owner=party_of(one.group.owner),
        group=str(one.group.pk),
        outcome=outcome_of(effect.as_member()).value,
        data={
            "request": str(one.request.pk),
            "system": one.request.target.name,
            "detail": one.request.detail,
            "tries": str(one.request.tries),
            "attempts": attempts[one.request.pk],
        },
    )
