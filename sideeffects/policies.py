"""May this person, or this agent, do this? Apart from whether it is possible now, which `transitions` decides."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings

from audit.inert import shows_nothing
from sideeffects.actors import Actor
from sideeffects.models import Batch, Declaration, Effect, Group, Request, Revocation

if TYPE_CHECKING:
    from django.db.models import QuerySet

Authority = Revocation.Authority


class NotFoundError(Exception):
    """It is not there, or not theirs: the answer is the same."""

    def __init__(self, what: str, key: str) -> None:
        self.what, self.key = what, key
        super().__init__(f"There is no {what} {key} that you may see.")


class ForPersonsOnlyError(Exception):
    """A judgment: an agent may not make it."""

    def __init__(self, action: str) -> None:
        self.action = action
        super().__init__(f"To {action} is a person's decision; an agent cannot do it.")


class ReadOnlyError(Exception):
    """An auditor reads and changes nothing."""

    def __init__(self) -> None:
        super().__init__("An auditor only reads; the owner or an admin can do this.")


class ReasonRequiredError(Exception):
    """Acting on what belongs to another needs a typed reason."""

    def __init__(self, detail: str = "This belongs to someone else: say why, in a few words.") -> None:
        self.member = "reason"
        super().__init__(detail)


class ScopeMissingError(Exception):
    """The agent's token does not carry the scope."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"This token does not have the scope {scope}.")


class RevokeCapError(Exception):
    """An agent has revoked as much as it may without a person."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        super().__init__(f"An agent may revoke {cap} actions an hour; a person has to go on from here.")


class ForAdminsOnlyError(Exception):
    """Only an admin, or the system on its own machine, decides this."""

    def __init__(self, action: str) -> None:
        self.action = action
        super().__init__(f"Only an admin can {action}.")


REFUSALS = (
    NotFoundError,
    ForPersonsOnlyError,
    ReadOnlyError,
    ReasonRequiredError,
    ScopeMissingError,
    RevokeCapError,
)


def visible_groups(by: Actor) -> "QuerySet[Group]":
    """Return the groups that this actor may see: one's own; all for admin and auditor; an agent's own for an agent."""
    if by.is_admin or by.is_auditor:
        return Group.objects.all()
    if by.user is None:
        return Group.objects.none()
    own = Group.objects.filter(owner=by.user)
    return own if by.token is None else own.filter(agent=by.token.agent_id)


def check_may_record(by: Actor, *, executing: bool = False) -> None:
    """Let through agents with the scope `record`, and the system on an owner's behalf; raises ScopeMissingError.

    `executing`: what a step of an execution did is recorded by whoever may execute it.
    """
    scopes = {"record", "execute"} if executing else {"record"}
    if by.token is not None and not scopes & set(by.token.scopes):
        raise ScopeMissingError("record")


def check_may_report_on(by: Actor, group: Group, *, executing: bool = False) -> None:
    """Let through the agent that opened the group, for its owner; raises NotFoundError, ScopeMissingError."""
    if by.token is None or not by.owns(group.owner_id) or by.token.agent_id != group.agent_id:
        raise NotFoundError("group", str(group.pk))
    check_may_record(by, executing=executing)


def check_may_revoke(by: Actor, group: Group, *, reason: str, rollback: bool = False) -> Authority:
    """Return the authority on which a revoke of this group rests.

    Raises NotFoundError (not theirs), ScopeMissingError (agent), ReasonRequiredError (admin on another's).
    `rollback`: whoever may execute a plan may have it rolled back, as it promised.
    """
    if by.token is not None:
        if not by.owns(group.owner_id) or by.token.agent_id != group.agent_id:
            raise NotFoundError("group", str(group.pk))
        if not {"revoke-own", *(["execute"] if rollback else [])} & set(by.token.scopes):
            raise ScopeMissingError("revoke-own")
        return Authority.AGENT
    return _persons_authority(by, group, reason=reason)


def check_may_restore(by: Actor, group: Group, *, reason: str) -> Authority:
    """Return the authority on which a restore rests; raises as `check_may_revoke`, and ForPersonsOnlyError."""
    if not by.is_person:
        raise ForPersonsOnlyError("restore")
    return _persons_authority(by, group, reason=reason)


def check_may_override(by: Actor) -> None:
    """Let through persons: taking back over what someone did since is a judgment; raises ForPersonsOnlyError."""
    if not by.is_person:
        raise ForPersonsOnlyError("override later changes")


def _persons_authority(by: Actor, group: Group, *, reason: str) -> Authority:
    if by.owns(group.owner_id):
        return Authority.OWNER
    if not by.is_admin:
        raise ReadOnlyError if by.is_auditor else NotFoundError("group", str(group.pk))
    if shows_nothing(reason):
        raise ReasonRequiredError
    return Authority.ADMIN


def check_may_judge(by: Actor, request: Request, *, reason: str, action: str) -> Authority:
    """Return the authority on which a person attests or tries again; raises as `check_may_restore`."""
    if not by.is_person:
        raise ForPersonsOnlyError(action)
    group = request.effect.group
    if not (by.owns(group.owner_id) or by.is_admin or by.is_auditor):
        raise NotFoundError("request", str(request.pk))
    return _persons_authority(by, group, reason=reason)


def check_may_resolve(by: Actor, conflict: Declaration, *, reason: str) -> Authority:
    """Return the authority on which a person decides about a difference; raises as `check_may_judge`."""
    if not by.is_person:
        raise ForPersonsOnlyError("decide about a difference")
    group = conflict.group
    if not (by.owns(group.owner_id) or by.is_admin or by.is_auditor):
        raise NotFoundError("conflict", str(conflict.pk))
    return _persons_authority(by, group, reason=reason)


def check_may_lift(by: Actor, group: Group, *, reason: str) -> Authority:
    """Return the authority on which a person lifts a fence; raises as `check_may_restore`."""
    if not by.is_person:
        raise ForPersonsOnlyError("lift a fence")
    return _persons_authority(by, group, reason=reason)


def check_may_batch(by: Actor, *, others: bool, reason: str) -> Authority:
    """Return the authority on which many actions are taken back together, `others` where some are not one's own.

    Raises ScopeMissingError (agent), ReasonRequiredError (admin on another's).
    """
    if by.token is not None:
        if "revoke-own" not in by.token.scopes:
            raise ScopeMissingError("revoke-own")
        return Authority.AGENT
    if others and shows_nothing(reason):
        raise ReasonRequiredError
    return Authority.ADMIN if others else Authority.OWNER


def check_may_steer(by: Actor, batch: Batch, action: str) -> None:
    """Let through who asked for a batch, or whose agent did, and admins; raises NotFoundError, ForPersonsOnlyError."""
    if not by.is_person:
        raise ForPersonsOnlyError(action)
    if not (by.owns(batch.user_id) or by.is_admin):
        raise NotFoundError("batch", str(batch.pk))


def only_reads(by: Actor) -> bool:
    """Say whether an auditor asks who is no admin."""
    return by.is_auditor and not by.is_admin


def check_says_why(reason: str) -> None:
    """Let through a reason that a reader sees something of; raises ReasonRequiredError."""
    if shows_nothing(reason):
        raise ReasonRequiredError("Say why, in a few words: nothing else would.")


def check_may_manage(by: Actor, action: str) -> None:
    """Let through admins, and the system on its own machine; raises ForAdminsOnlyError."""
    if not (by.is_admin or by.system):
        raise ForAdminsOnlyError(action)


def window_is_closed(by: Actor, effect: Effect, *, now: datetime) -> bool:
    """Say whether the declared undo window is over, so that only an admin may still ask the target.

    Its last instant is still inside, as in a plan: a window as long as what it has to outlast is long enough.
    """
    return effect.undo_expires_at is not None and effect.undo_expires_at < now and not by.is_admin


def may_decide(by: Actor, group: Group) -> bool:
    """Say whether this person may revoke or restore the group, given a reason where one is needed."""
    return by.is_person and (by.owns(group.owner_id) or by.is_admin)


def may_revoke(by: Actor, group: Group) -> bool:
    """Say whether a revoke by this person or agent would be let through, given a reason where one is needed."""
    if by.token is None:
        return may_decide(by, group)
    return by.owns(group.owner_id) and by.token.agent_id == group.agent_id and "revoke-own" in by.token.scopes


def check_agent_cap(by: Actor, *, more: int, now: datetime) -> None:
    """Hold an agent to its revokes an hour, its row locked by the caller; raises RevokeCapError."""
    if by.token is None:
        return
    cap = settings.AGENT_REVOKES_PER_HOUR
    own = Revocation.objects.exclude(trigger=Revocation.Trigger.ROLLBACK)  # a plan has promised those
    used = own.filter(agent=by.token.agent_id, asked_at__gt=now - timedelta(hours=1)).count()
    if used + more > cap:
        raise RevokeCapError(cap)
