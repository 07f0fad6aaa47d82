"""Restore what the newest standing revocation of a group took back: exactly those rows, as they were before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import IntegrityError, transaction

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


def restore(
    *, groups: Sequence[UUID], by: Actor, now: datetime, reason: str, batch: UUID | None = None
) -> list[Result]:
    """Bring back what the newest revocation of each group took back and has not given back; one result a group.

    What was removed comes back, what was put back is changed again, what was undeleted is deleted again. A group that
    is restored already is answered as it is. What had been deleted before that revocation stays deleted (T1); ids are
    the old ones (T3). Refusals: NotFoundError, ReadOnlyError, ForPersonsOnlyError, ReasonRequiredError,
    NothingInTrashError, PurgedError, RestoreClashError (T2) and MembersFailedError (nothing half restored).
    Writes `restored`, or `restore_refused` after the rollback.
    """
    results = []
    for key in dict.fromkeys(groups):
        try:
            results.append(
                Result(key, retried(partial(_restored, key, by=by, now=now, reason=reason.strip(), batch=batch)))
            )
        except REFUSALS as error:
            results.append(Result(key, refusal=_explained(key, error)))
    refuse.log_refusals(results, action="restore_refused", by=by, now=now, reason=reason.strip())
    return results


def _explained(key: UUID, error: Exception) -> Exception:
    """Return the clash where a write ran into one that came up after the look for clashes, else the error itself."""
    if not isinstance(error.__cause__, IntegrityError):
        return error
    group = Group.objects.select_related("owner").get(pk=key)
    found = clashes.before(group)
    return clashes.RestoreClashError(group, found) if found else error


def _restored(key: UUID, *, by: Actor, now: datetime, reason: str, batch: UUID | None) -> Answer:
    with transaction.atomic():
        return _restore(key, by=by, now=now, reason=reason, batch=batch)


def _restore(key: UUID, *, by: Actor, now: datetime, reason: str, batch: UUID | None) -> Answer:
    decided = _decide(key, by=by, reason=reason)
    removed = decided.removed
    if not removed:
        return _answer(decided, already=True)
    if found := clashes.of(removed, owner=decided.group.owner, lock=True):
        raise clashes.RestoreClashError(decided.group, found)
    pieces = [revoked_piece(effect, decided.group.owner) for effect in removed]
    rows = local.Rows(pieces, locked=True)
    rows.read(pieces)
    rows.give_back(pieces, by=str(by.party), now=now)
    for effect in removed:
        effect.state = effect_after(EffectState(effect.state), "restore")
        effect.state_at = effect.restored_at = now
        effect.restored_by, effect.revocation, effect.purge_at = str(by.party), None, None
        effect.version_undone = effect.version_over = ""
    Effect.objects.filter(pk__in=[effect.pk for effect in removed]).update(
        state=EffectState.ACTIVE,
        state_at=now,
        restored_at=now,
        restored_by=str(by.party),
        revocation=None,
        purge_at=None,
        version_undone="",
        version_over="",
    )
    decided.revocation.restored_at, decided.revocation.restored_by = now, str(by.party)
    decided.revocation.save(update_fields=["restored_at", "restored_by"])
    answer = _answer(decided)
    [answer.record] = log.append([_entry(decided, answer, removed, by=by, reason=reason, batch=batch)], now=now)
    return answer


def _answer(decided: _Decided, *, already: bool = False) -> Answer:
    return Answer(decided.group, as_they_stand(decided.members), decided.conflict_open, already=already)


def _decide(key: UUID, *, by: Actor, reason: str) -> _Decided:
    """Lock the group and decide; raises the refusal."""
    locked = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version")
    group = locked.filter(pk=key).first()
    if group is None:
        raise policies.NotFoundError("group", str(key))
    authority = policies.check_may_restore(by, group, reason=reason)
    members = queries.members_of([group])[group.pk]
    revocation = group.revocations.filter(removed__state=EffectState.REVOKED).order_by("-pk").first()
    purged = [effect for effect in members if effect.state == EffectState.PURGED]
    if lost := [effect for effect in purged if revocation is None or effect.revocation_id == revocation.pk]:
        raise PurgedError(group, lost)
    revocation = revocation or group.revocations.exclude(restored_at=None).order_by("-pk").first()
    if revocation is None:
        raise NothingInTrashError(group)
    return _Decided(group, members, revocation, authority, bool(queries.open_conflicts([group.pk])))


def _entry(
    decided: _Decided, answer: Answer, removed: Sequence[Effect], *, by: Actor, reason: str, batch: UUID | None
) -> log.Entry:
    group, principal = decided.group, decided.members[0]
    return log.Entry(
        action="restored",
        target=(principal.type, principal.object_id),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        outcome=Outcome.RESTORED.value,
        subjects=[
            *((effect.type, effect.object_id) for effect in removed),
            *([("batch", str(batch))] if batch else []),
        ],
        data={
            "revocation": str(decided.revocation.pk),
            "batch": str(batch or ""),
            "authority": decided.authority,
            "reason": reason,
            "counts": answer.counts,
            "members": [{"type": effect.type, "id": effect.object_id} for effect in removed],
        },
    )
