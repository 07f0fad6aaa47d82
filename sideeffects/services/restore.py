"""Restore what the newest standing revocation of a group took back: exactly those rows, as they were before it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from audit import log
from sideeffects import policies, queries
from sideeffects.actors import Actor, party_of
from sideeffects.models import Effect, Group, Revocation
from sideeffects.services import clashes, refuse
from sideeffects.services.answers import Answer, Result, as_they_stand
from sideeffects.services.decided import revoked_piece
from sideeffects.services.retry import retried
from sideeffects.targets import local
from sideeffects.transitions import EffectState, Outcome, effect_after


class NothingInTrashError(Exception):
    """Nothing of this group lies in the trash."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__("Nothing of this action is in the trash, so there is nothing to restore.")


class PurgedError(Exception):
    """What the revocation removed has left the trash for good, so it cannot be brought back as it was."""

    def __init__(self, group: Group, purged: Sequence[Effect]) -> None:
        self.group, self.purged = str(group.pk), len(purged)
        self.purged_at = max(effect.state_at for effect in purged).isoformat()
        super().__init__("Purged: what this revocation removed left the trash for good, and nothing brings it back.")


REFUSALS = (*policies.REFUSALS, NothingInTrashError, PurgedError, clashes.RestoreClashError, local.MembersFailedError)


@dataclass
class _Decided:
    group: Group
    members: Sequence[Effect]
    revocation: Revocation
    authority: policies.Authority
    conflict_open: bool

    @property
    def removed(self) -> list[Effect]:
        return [
            effect
            for effect in self.members
            if effect.state == EffectState.REVOKED and effect.revocation_id == self.revocation.pk
        ]


@dataclass(frozen=True, kw_only=True)
class _Terms:
    by: Actor
    now: datetime
    reason: str
    batch: UUID | None


def restore(
    *, groups: Sequence[UUID], by: Actor, now: datetime, reason: str, batch: UUID | None = None
) -> list[Result]:
    """Bring back what the newest revocation of each group took back and has not given back; one result a group.

    What was removed comes back, what was put back is changed again, what was undeleted is deleted again. A group that
    is restored already is answered as it is. What had been deleted before that revocation stays deleted (T1); ids are
    the old ones (T3). Those of a list in whose way nothing stands come back set-wise, the others one by one in its
    order. Refusals: NotFoundError, ReadOnlyError, ForPersonsOnlyError, ReasonRequiredError, NothingInTrashError,
    PurgedError, RestoreClashError (T2) and MembersFailedError (nothing half restored). Writes `restored`, or
    `restore_refused` after the rollback.
    """
    terms = _Terms(by=by, now=now, reason=reason.strip(), batch=batch)
    keys = list(dict.fromkeys(groups))
    done = retried(partial(_together, keys, terms)) if len(keys) > 1 else {}
    results = [done.get(key) or _alone(key, terms) for key in keys]
    refuse.log_refusals(results, action="restore_refused", by=by, now=now, reason=terms.reason)
    return results


def _alone(key: UUID, terms: _Terms) -> Result:
    try:
        return Result(key, retried(partial(_restored, key, terms)))
    except REFUSALS as error:
        return Result(key, refusal=_explained(key, error))


def _explained(key: UUID, error: Exception) -> Exception:
    """Return the clash where a write ran into one that came up after the look for clashes, else the error itself."""
    if not isinstance(error.__cause__, IntegrityError):
        return error
    group = Group.objects.select_related("owner").get(pk=key)
    found = clashes.before(group)
    return clashes.RestoreClashError(group, found) if found else error


def _restored(key: UUID, terms: _Terms) -> Answer:
    with transaction.atomic():
        [decided] = _decide([key], terms)
        if isinstance(decided, Exception):
            raise decided
        if not decided.removed:
            return _answer(decided, already=True)
        if found := clashes.of(decided.removed, owner=decided.group.owner, lock=True):
            raise clashes.RestoreClashError(decided.group, found)
        [answer] = _give_back([decided], terms)
        return answer


def _together(keys: Sequence[UUID], terms: _Terms) -> dict[UUID, Result]:
    """Bring back at once what no other of them touches and nothing stands in the way of; nothing where a row fails."""
    try:
        with transaction.atomic():
            found = [one for one in _decide(keys, terms) if isinstance(one, _Decided) and one.removed]
            ready = _unhindered(_apart(found))
            answers = _give_back(ready, terms) if ready else []
    except local.MembersFailedError:
        return {}
    return {answer.group.pk: Result(answer.group.pk, answer) for answer in answers}


def _apart(decided: Sequence[_Decided]) -> list[_Decided]:
    """Return those of which no object is another's too: the order in which such come back decides."""
    held = Counter((effect.type, effect.object_id) for one in decided for effect in one.removed)
    return [one for one in decided if all(held[effect.type, effect.object_id] == 1 for effect in one.removed)]


def _unhindered(decided: Sequence[_Decided]) -> list[_Decided]:
    """Return those in whose way nothing stands; whatever hangs under one that stays is looked at once more."""
    ready = list(decided)
    while ready:
        found = clashes.among([(one.removed, one.group.owner) for one in ready], lock=True)
        hindered = {(clash.type, clash.id) for clash in found}
        if not hindered:
            break
        ready = [one for one in ready if not any((row.type, row.object_id) in hindered for row in one.removed)]
    return ready


def _give_back(decided: Sequence[_Decided], terms: _Terms) -> list[Answer]:
    by, now = str(terms.by.party), terms.now
    removed = {one.group.pk: one.removed for one in decided}
    pieces = [revoked_piece(effect, one.group.owner) for one in decided for effect in removed[one.group.pk]]
    rows = local.Rows(pieces, locked=True)
    rows.read(pieces)
    rows.give_back(pieces, by=by, now=now)
    every = [effect for effects in removed.values() for effect in effects]
    for effect in every:
        effect.state = effect_after(EffectState(effect.state), "restore")
        effect.state_at = effect.restored_at = now
        effect.restored_by, effect.revocation, effect.purge_at = by, None, None
        effect.version_undone = effect.version_over = ""
    Effect.objects.filter(pk__in=[effect.pk for effect in every]).update(
        state=EffectState.ACTIVE,
        state_at=now,
        restored_at=now,
        restored_by=by,
        revocation=None,
        purge_at=None,
        version_undone="",
        version_over="",
    )
    undone = [one.revocation.pk for one in decided]
    Revocation.objects.filter(pk__in=undone).update(restored_at=now, restored_by=by)
    answers = [_answer(one) for one in decided]
    entries = [_entry(one, answer, removed[one.group.pk], terms) for one, answer in zip(decided, answers, strict=True)]
    for answer, record in zip(answers, log.append(entries, now=now), strict=True):
        answer.record = record
    return answers


def _answer(decided: _Decided, *, already: bool = False) -> Answer:
    return Answer(decided.group, as_they_stand(decided.members), decided.conflict_open, already=already)


def _decide(keys: Sequence[UUID], terms: _Terms) -> list[_Decided | Exception]:
    """Lock the groups and decide about each: what would come back, or the refusal."""
    locked = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version")
    rows = {row.pk: row for row in locked.filter(pk__in=keys).order_by("pk")}
    members, conflicts = queries.members_of(list(rows)), queries.open_conflicts(rows)
    undoing = _undoing(list(rows))
    decided: list[_Decided | Exception] = []
    for key in keys:
        try:
            decided.append(_decided(key, rows, members.get(key, []), undoing.get(key), key in conflicts, terms))
        except REFUSALS as error:
            decided.append(error)
    return decided


def _undoing(groups: Sequence[UUID]) -> dict[UUID, Revocation]:
    """Return by group the newest revocation of which something is not given back, else the newest that was."""
    lying = Exists(queries.lying_by(OuterRef("pk"), group=OuterRef("group")))
    asked = Revocation.objects.filter(group__in=groups).annotate(lying=lying)
    known = asked.filter(Q(lying=True) | Q(restored_at__isnull=False)).order_by("lying", "pk")
    return {row.group_id: row for row in known}


def _decided(
    key: UUID,
    rows: Mapping[UUID, Group],
    members: Sequence[Effect],
    revocation: Revocation | None,
    conflict_open: bool,  # noqa: FBT001  (private, and called in one place)
    terms: _Terms,
) -> _Decided:
    group = rows.get(key)
    if group is None:
        raise policies.NotFoundError("group", str(key))
    authority = policies.check_may_restore(terms.by, group, reason=terms.reason)
    lies = revocation is not None and revocation.lying  # type: ignore[attr-defined]  # (`_undoing` annotates it)
    purged = [effect for effect in members if effect.state == EffectState.PURGED]
    newest = revocation.pk if revocation is not None and lies else None
    if lost := [effect for effect in purged if newest is None or effect.revocation_id == newest]:
        raise PurgedError(group, lost)
    if revocation is None:
        raise NothingInTrashError(group)
    return _Decided(group, members, revocation, authority, conflict_open)


def _entry(decided: _Decided, answer: Answer, removed: Sequence[Effect], terms: _Terms) -> log.Entry:
    group, principal = decided.group, decided.members[0]
    found_by = [("batch", str(terms.batch))] if terms.batch else []
    return log.Entry(
        action="restored",
        target=(principal.type, principal.object_id),
        actor=terms.by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        outcome=Outcome.RESTORED.value,
        subjects=[*((effect.type, effect.object_id) for effect in removed), *found_by],
        data={
            "revocation": str(decided.revocation.pk),
            "batch": str(terms.batch or ""),
            "authority": decided.authority,
            "reason": terms.reason,
            "counts": answer.counts,
            "members": [{"type": effect.type, "id": effect.object_id} for effect in removed],
        },
    )
