"""Revoke groups: the local members of each in one transaction with its record, all or none; then targets are asked."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from sideeffects import policies, queries
from sideeffects.actors import Actor
from sideeffects.models import Agent, Effect, Group
from sideeffects.services import refuse
from sideeffects.services.answers import Answer, Result, as_they_stand
from sideeffects.services.ask import is_waiting, obstacle
from sideeffects.services.remove import Decided, Trigger, remove
from sideeffects.targets import local
from sideeffects.transitions import EffectState, GroupState


class InFlightError(Exception):
    """The call has not landed, so what it wrote is not known."""

    def __init__(self, group: Group) -> None:
        self.group, self.state = str(group.pk), group.state
        super().__init__("This call has not landed: what it wrote is not known, so it cannot be revoked yet.")


class NothingWrittenError(Exception):
    """The agent says that the call failed."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__("The agent says that this call failed and nothing was written; there is nothing to revoke.")


class NotRevocableError(Exception):
    """No member can be taken back; the reasons are the tool's own."""

    def __init__(self, group: Group, reasons: Sequence[str]) -> None:
        self.group, self.reasons = str(group.pk), list(reasons)
        super().__init__(f"Not revocable: {'; '.join(self.reasons) or 'nothing was declared'}.")


class TargetsOutOfReachError(Exception):
    """Only a target could undo this, and none of them may be asked; the reasons say why."""

    def __init__(self, group: Group, targets: Sequence[str], reasons: Sequence[str]) -> None:
        self.group, self.targets, self.reasons = str(group.pk), list(targets), list(reasons)
        super().__init__(f"Nothing was asked: {'; '.join(self.reasons)}.")


# What keeps one group as it is while its neighbours go on; anything else undoes the whole.
REFUSALS = (*policies.REFUSALS, InFlightError, NothingWrittenError, NotRevocableError, TargetsOutOfReachError)


def revoke(*, groups: Sequence[UUID], by: Actor, now: datetime, reason: str, trigger: Trigger) -> list[Result]:
    """Take back everything that these groups declared and that can be taken back; one result a group, in order.

    A group that is taken back already is answered as it is. Refusals: NotFoundError, ReadOnlyError,
    ScopeMissingError, ReasonRequiredError, RevokeCapError, InFlightError, NothingWrittenError, NotRevocableError,
    TargetsOutOfReachError, MembersFailedError. Writes `COMPENSATE`, or `revoke_refused` after the rollback.
    """
    results = _attempt(list(dict.fromkeys(groups)), by=by, now=now, reason=reason.strip(), trigger=trigger)
    refuse.log_refusals(results, action="revoke_refused", by=by, now=now, reason=reason.strip())
    return results


def _attempt(ids: list[UUID], *, by: Actor, now: datetime, reason: str, trigger: Trigger) -> list[Result]:
    """Revoke all of them set-wise; where a member fails, bisect until the group that holds it stands alone."""
    try:
        with transaction.atomic():
            return _revoke(ids, by=by, now=now, reason=reason, trigger=trigger)
    except local.MembersFailedError as error:
        if len(ids) == 1:
            return [Result(ids[0], refusal=error)]
        half = len(ids) // 2
        halves = (ids[:half], ids[half:])
        return [result for part in halves for result in _attempt(part, by=by, now=now, reason=reason, trigger=trigger)]


def _revoke(ids: list[UUID], *, by: Actor, now: datetime, reason: str, trigger: Trigger) -> list[Result]:
    if by.token is not None:
        # Its cap is counted under this lock, which lets by what only refers to the agent, such as recording.
        Agent.objects.select_for_update(no_key=True).get(pk=by.token.agent_id)
    locked = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version")
    rows = {row.pk: row for row in locked.filter(pk__in=ids).order_by("pk")}
    members, conflicts = queries.members_of(list(rows)), queries.open_conflicts(rows)
    results: dict[UUID, Result] = {}
    work: list[Decided] = []
    for key in ids:
        try:
            rollback = trigger == Trigger.ROLLBACK  # as far as its plan's steps go, which no cap may cut short
            one = _classified(
                key, rows, members.get(key, []), conflicts, by=by, now=now, reason=reason, rollback=rollback
            )
            if (one.local_members or one.to_ask) and not rollback:
                policies.check_agent_cap(by, more=len(work) + 1, now=now)
        except REFUSALS as error:
            results[key] = Result(key, refusal=error)
            continue
        if one.local_members or one.to_ask:
            work.append(one)
        else:
            results[key] = Result(key, answer=_as_it_is(one))
    if work:
        results |= remove(work, by=by, now=now, reason=reason, trigger=trigger)
    return [results[key] for key in ids]


def _classified(
    key: UUID,
    rows: dict[UUID, Group],
    members: list[Effect],
    conflicts: set[UUID],
    *,
    by: Actor,
    now: datetime,
    reason: str,
    rollback: bool,
) -> Decided:
    """Decide whether this group may and can be revoked; raises the refusal."""
    group = rows.get(key)
    if group is None:
        raise policies.NotFoundError("group", str(key))
    authority = policies.check_may_revoke(by, group, reason=reason, rollback=rollback)
    obstacles = {row.pk: obstacle(row, group, by=by, now=now) for row in members if is_waiting(row)}
    work = Decided(group, members, authority, key in conflicts, obstacles)
    if group.state in {GroupState.OPEN, GroupState.LOST}:
        raise InFlightError(group)
    if group.state == GroupState.FAILED:
        raise NothingWrittenError(group)
    untouched = all(effect.state == EffectState.ACTIVE for effect in members)
    if untouched and not work.local_members and not work.to_ask:
        if obstacles:
            names = {effect.target.name for effect in members if effect.pk in obstacles and effect.target}
            raise TargetsOutOfReachError(group, sorted(names), list(dict.fromkeys(obstacles.values())))
        raise NotRevocableError(group, list(dict.fromkeys(effect.reason for effect in members)))
    return work


def _as_it_is(work: Decided) -> Answer:
    """Answer a group in which nothing is left to do, changing nothing."""
    members = as_they_stand(work.members)
    record = log.latest(group=str(work.group.pk), action="COMPENSATE")
    return Answer(work.group, members, work.conflict_open, record=record, already=True)
