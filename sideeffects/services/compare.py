"""Compare a later declaration of a landed call with what is held: a replay, a known conflict or a new one."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Greatest

from audit import log
from sideeffects.actors import Actor, party_of
from sideeffects.declarations import Declared, declaration_digest, difference
from sideeffects.models import Declaration, Group

MOST_CONFLICTS = 20  # differing declarations kept for one group; more are counted, not kept


def with_held(
    group: Group, declared: Sequence[Declared], *, by: Actor, now: datetime, occurrence: int = 0
) -> tuple[Declaration | None, bool]:
    """Return the conflict that a declaration of a locked, landed group means, if any, and whether it is kept as new.

    A conflict that is new is kept beside the first with its difference and writes `declaration_differed`; one that
    is known folds into its count; what a person has resolved stays resolved. Past the cap a conflict is counted on
    the group and returned unsaved.
    """
    digest = declaration_digest(declared)
    known = {row.digest: row for row in group.declarations.all()}
    same = known.get(digest)
    if same is not None and (same.held or same.resolved_at is not None):
        _count_repeat(group, declared, occurrence=occurrence)
        return None, False
    if same is not None:
        return _seen_again(same, now=now, occurrence=occurrence), False
    held = next(row for row in known.values() if row.held)
    conflict = _new(group, held, declared, digest=digest, by=by, now=now)
    if len(known) > MOST_CONFLICTS:
        Group.objects.filter(pk=group.pk).update(declarations_not_kept=F("declarations_not_kept") + 1)
        return conflict, False
    return _keep(conflict, declared, by=by, now=now), True


def _count_repeat(group: Group, declared: Sequence[Declared], *, occurrence: int) -> None:
    """Count a repeat only where ids cannot tell whether it happened again (two identical e-mails)."""
    if all(effect.id for effect in declared):
        return
    more = Greatest(F("repeats"), occurrence - 1) if occurrence else F("repeats") + 1
    Group.objects.filter(pk=group.pk).update(repeats=more)
    group.refresh_from_db(fields=["repeats"])


def _seen_again(row: Declaration, *, now: datetime, occurrence: int) -> Declaration:
    row.seen = max(row.seen, occurrence) if occurrence else row.seen + 1
    row.last_seen_at = max(now, row.last_seen_at)
    row.save(update_fields=["seen", "last_seen_at"])
    return row


def _new(
    group: Group, held: Declaration, declared: Sequence[Declared], *, digest: str, by: Actor, now: datetime
) -> Declaration:
    first = [Declared.from_json(effect) for effect in held.effects]
    return Declaration(
        group=group,
        digest=digest,
        effects=[effect.as_json() for effect in declared],
        held=False,
        difference=difference(first, declared),
        first_seen_at=now,
        last_seen_at=now,
        declared_by=str(by.party),
    )


def _keep(conflict: Declaration, declared: Sequence[Declared], *, by: Actor, now: datetime) -> Declaration:
    conflict.save()
    group = conflict.group
    entry = log.Entry(
        action="declaration_differed",
        target=("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        subjects=[(effect.type, effect.id) for effect in declared if effect.id],
        data={
            **group.call_words(),
            "declaration": str(conflict.pk),
            "only_held": conflict.difference["only_first"],
            "only_declared": conflict.difference["only_second"],
            "changed": conflict.difference["changed"],
        },
    )
    log.append([entry], now=now)
    return conflict
