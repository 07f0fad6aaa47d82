"""Revoke groups: the local members of each in one transaction with its record, all or none; then targets are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from audit.loaded import refer
from sideeffects import dependants, policies, queries
from sideeffects.actors import Actor
from sideeffects.models import Agent, Effect, Group
from sideeffects.services import refuse, since
from sideeffects.services.answers import Answer, Result, as_they_stand
from sideeffects.services.ask import is_waiting, obstacle
from sideeffects.services.decided import Decided
from sideeffects.services.remove import Trigger, remove
from sideeffects.services.retry import retried
from sideeffects.setwise import among
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
REFUSALS = (
    *policies.REFUSALS,
    *since.REFUSALS,
    InFlightError,
    NothingWrittenError,
    NotRevocableError,
    TargetsOutOfReachError,
)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """By whom, when and how a revoke is asked for, and which choices were made about it."""

    by: Actor
    now: datetime
    reason: str
    trigger: Trigger
    overrides: Mapping[UUID, str]
    leave_later: bool
    batch: UUID | None

    @property
    def is_rollback(self) -> bool:
        """Say whether it goes as far as a plan's steps do, which no cap may cut short."""
        return self.trigger == Trigger.ROLLBACK


def revoke(
    *,
    groups: Sequence[UUID],
    by: Actor,
    now: datetime,
    reason: str,
    trigger: Trigger,
    overrides: Mapping[UUID, str] | None = None,
    leave_later: bool = False,
    batch: UUID | None = None,
) -> list[Result]:
    """Take back everything that these groups declared and that can be taken back; one result a group, in order.

    A group that is taken back already is answered as it is. What others of the list build on goes after them.
    `overrides`: for a group, the `seen` of the EditedSinceError by which a person was told what would be lost.
    `leave_later`: take a group back though later ones build on it, where that is possible. `batch`: the one that has
    them taken back, which the log names. Refusals: NotFoundError,
    ReadOnlyError, ScopeMissingError, ReasonRequiredError, ForPersonsOnlyError, RevokeCapError, InFlightError,
    NothingWrittenError, NotRevocableError, TargetsOutOfReachError, EditedSinceError, DependedOnError,
    MembersFailedError. Writes `COMPENSATE`, or `revoke_refused` after the rollback.
    """
    terms = Terms(
        by=by,
        now=now,
        reason=reason.strip(),
        trigger=trigger,
        overrides=overrides or {},
        leave_later=leave_later,
        batch=batch,
    )
    asked = list(dict.fromkeys(groups))
    found = retried(lambda: _attempt(sorted(asked), terms))
    results = [found[key] for key in asked]
    refuse.log_refusals(results, action="revoke_refused", by=by, now=now, reason=reason.strip())
    return results


def _attempt(ids: list[UUID], terms: Terms) -> dict[UUID, Result]:
    """Revoke all of them set-wise; where a member fails, bisect until the group that holds it stands alone."""
    try:
        with transaction.atomic():
            return _revoke(ids, terms)
    except local.MembersFailedError as error:
        if len(ids) == 1:
            return {ids[0]: Result(ids[0], refusal=error)}
        half = len(ids) // 2
        return _attempt(ids[half:], terms) | _attempt(ids[:half], terms)  # the newer first: they may build on the older


def _revoke(ids: list[UUID], terms: Terms) -> dict[UUID, Result]:
    by, now = terms.by, terms.now
    if by.token is not None:
        # Its cap is counted under this lock, which lets by what only refers to the agent, such as recording.
        Agent.objects.select_for_update(no_key=True).get(pk=by.token.agent_id)
    rows = _locked(ids)
    members, conflicts = queries.members_of(list(rows)), queries.open_conflicts(rows)
    results: dict[UUID, Result] = {}
    work: list[Decided] = []
    for key in ids:
        try:
            if key in terms.overrides:
                policies.check_may_override(by)
            one = _classified(key, rows, members.get(key, []), conflicts, terms)
            if (one.local_members or one.to_ask) and not terms.is_rollback:
                policies.check_agent_cap(by, more=len(work) + 1, now=now)
        except REFUSALS as error:
            results[key] = Result(key, refusal=error)
            continue
        if one.local_members or one.to_ask:
            work.append(one)
        else:
            results[key] = Result(key, answer=_as_it_is(one))
    return results | (_in_order(work, terms) if work else {})


def _locked(ids: list[UUID]) -> dict[UUID, Group]:
    """Return the groups, those that have landed locked.

    What has not landed stays unlocked: a tool that runs holds rows and wants its group last, so whoever held that and
    wanted the rows would wait for it for ever.
    """
    known = Group.objects.filter(among("id", ids)).order_by("pk")
    in_flight = known.exclude(state=GroupState.LANDED)
    landed = known.filter(state=GroupState.LANDED).select_for_update()
    rows = [*in_flight, *landed]
    refer(rows, "owner", "tool_version")
    return {row.pk: row for row in rows}


def _in_order(work: list[Decided], terms: Terms) -> dict[UUID, Result]:
    """Take the groups back, each after those that build on it; what was changed or is built on since is refused."""
    rows = local.Rows([piece for one in work for piece in one.pieces], locked=True)
    rows.read([piece for one in work for piece in one.pieces])
    decided = {one.group.pk: one for one in work}
    owners = {key: one.group.owner_id for key, one in decided.items()}
    builds = dependants.of_members([effect for one in work for effect in one.members], owners)
    results: dict[UUID, Result] = {}
    gone: set[UUID] = set()
    for wave in dependants.waves(list(decided), builds):
        ready = []
        for key in wave:
            try:
                _check_since(decided[key], since.still(builds.get(key, {}), gone), rows, terms)
            except since.REFUSALS as error:
                results[key] = Result(key, refusal=error)
            else:
                ready.append(decided[key])
        if ready:
            results |= remove(
                ready,
                rows,
                by=terms.by,
                now=terms.now,
                reason=terms.reason,
                trigger=terms.trigger,
                batch=terms.batch,
            )
            gone |= {one.group.pk for one in ready}
    return results


def _check_since(one: Decided, later: list[dependants.Later], rows: local.Rows, terms: Terms) -> None:
    since.check_alone(one, later, leave=terms.leave_later, by=terms.by)
    override = terms.overrides.get(one.group.pk, "")
    one.edits = since.check_unedited(one, rows, override=override, by=terms.by)


def _classified(
    key: UUID,
    rows: dict[UUID, Group],
    members: list[Effect],
    conflicts: set[UUID],
    terms: Terms,
) -> Decided:
    """Decide whether this group may and can be revoked; raises the refusal."""
    group = rows.get(key)
    if group is None:
        raise policies.NotFoundError("group", str(key))
    authority = policies.check_may_revoke(terms.by, group, reason=terms.reason, rollback=terms.is_rollback)
    obstacles = {row.pk: obstacle(row, group, by=terms.by, now=terms.now) for row in members if is_waiting(row)}
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
