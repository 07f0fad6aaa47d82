"""Compare a later declaration of a landed call with what is held: a replay, a known conflict or a new one."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Greatest

from audit import log
from sideeffects.actors import Actor, party_of
from sideeffects.declarations import Declared, declaration_digest, difference, is_difference
from sideeffects.models import Declaration, Effect, Group
from sideeffects.transitions import Operation

MOST_CONFLICTS = 20  # undecided declarations kept for one group; more are counted, not kept


def with_held(
    group: Group, declared: Sequence[Declared], *, by: Actor, now: datetime, occurrence: int = 0
) -> tuple[Declaration | None, bool]:
    """Return the conflict that a declaration of a locked, landed group means, if any, and whether it is kept as new.

    A conflict that is new is kept beside the first with its difference and writes `declaration_differed`; one that
    is known folds into its count; what a person has resolved stays resolved. Past the cap a conflict is counted on
    the group and returned unsaved; one row, which a person has to dismiss, stands for all of these.
    """
    digest = declaration_digest(declared)
    known = {row.digest: row for row in group.declarations.all()}
    same = known.get(digest)
    if same is not None and (same.held or same.resolved_at is not None):
        _count_repeat(group, declared, occurrence=occurrence)
        return None, False
    if same is not None:
        return _seen_again(same, now=now, occurrence=occurrence), False
    apart = difference(held_now(group, known.values()), declared)
    if not is_difference(apart):  # it says all that is held by now, members that were adopted included
        _count_repeat(group, declared, occurrence=occurrence)
        return None, False
    conflict = Declaration(
        group=group,
        digest=digest,
        effects=[effect.as_json() for effect in declared],
        held=False,
        difference=apart,
        first_seen_at=now,
        last_seen_at=now,
        declared_by=str(by.party),
    )
    if sum(row.kept for row in known.values() if _is_undecided(row)) >= MOST_CONFLICTS:
        _past_the_cap(conflict, known.values(), by=by, now=now)
        return conflict, False
    conflict.save()
    log.append([_entry(conflict, conflict, by=by)], now=now)
    return conflict, True


def held_now(group: Group, known: Iterable[Declaration]) -> list[Declared]:
    """Return what a group holds: its first declaration, and whatever of later ones was adopted."""
    rows = list(known)
    if any(row.resolution == Declaration.Resolution.ADOPT for row in rows):
        return [declared_as(effect) for effect in group.effects.order_by("position")]
    held = next(row for row in rows if row.held)
    return [Declared.from_json(effect) for effect in held.effects]


def declared_as(effect: Effect) -> Declared:
    """Return a member as it was declared; its window is not part of what decides sameness."""
    return Declared(effect.type, effect.object_id, Operation(effect.operation), effect.title, effect.version)


def _is_undecided(row: Declaration) -> bool:
    return not row.held and row.resolved_at is None


def _count_repeat(group: Group, declared: Sequence[Declared], *, occurrence: int) -> None:
    """Count a repeat only where ids cannot tell whether it happened again (two identical e-mails)."""
    if all(effect.id for effect in declared):
        return
    more = Greatest(F("repeats"), occurrence - 1) if occurrence else F("repeats") + 1
    Group.objects.filter(pk=group.pk).update(repeats=more)
    group.refresh_from_db(fields=["repeats"])


def _seen_again(row: Declaration, *, now: datetime, occurrence: int = 0) -> Declaration:
    row.seen = max(row.seen, occurrence) if occurrence else row.seen + 1
    row.last_seen_at = max(now, row.last_seen_at)
    row.save(update_fields=["seen", "last_seen_at"])
    return row


def _past_the_cap(conflict: Declaration, known: Iterable[Declaration], *, by: Actor, now: datetime) -> None:
    """Count what is not kept, and have one undecided row stand for it: its difference stands on the log alone."""
    group, uncounted = conflict.group, [row for row in known if not row.kept]
    Group.objects.filter(pk=group.pk).update(declarations_not_kept=F("declarations_not_kept") + 1)
    group.refresh_from_db(fields=["declarations_not_kept"])
    waiting = next((row for row in uncounted if _is_undecided(row)), None)
    if waiting is not None:
        _seen_again(waiting, now=now)
        return
    row = Declaration.objects.create(
        group=group,
        digest=f"past the cap {len(uncounted) + 1}",
        effects=[],
        held=False,
        kept=False,
        first_seen_at=now,
        last_seen_at=now,
        declared_by=conflict.declared_by,
    )
    log.append([_entry(row, conflict, by=by)], now=now)


def _entry(row: Declaration, conflict: Declaration, *, by: Actor) -> log.Entry:
    group = row.group
    ids = [(effect["type"], effect["id"]) for effect in conflict.effects if effect.get("id")]
    return log.Entry(
        action="declaration_differed",
        target=("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        subjects=ids,
        data={
            **group.call_words(),
            "declaration": str(row.pk),
            "only_held": conflict.difference["only_first"],
            "only_declared": conflict.difference["only_second"],
            "changed": conflict.difference["changed"],
        },
    )
