"""Fence a call in flight: it is revoked as soon as it arrives, by whoever set the fence, if they still may."""

import logging
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction

from audit import log
from audit.wake import wake
from sideeffects import actors, policies
from sideeffects.actors import Actor, party_of
from sideeffects.models import Agent, Fence, Group
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.services.tokens import is_alive
from sideeffects.services.told import notify_of
from sideeffects.transitions import GroupState

logger = logging.getLogger(__name__)

Result = Fence.Result
IN_FLIGHT = frozenset({GroupState.OPEN, GroupState.LOST})
ARRIVED = [GroupState.LANDED, GroupState.FAILED]

wake_fences = partial(wake, "sideeffects.fire_fences")


class NotInFlightError(Exception):
    """The call has landed or failed, so there is nothing to wait for."""

    def __init__(self, group: Group) -> None:
        self.group, self.state = str(group.pk), group.state
        super().__init__("This call is not in flight any more: a fence would wait for nothing.")


class FenceEndedError(Exception):
    """The fence has fired, or ended otherwise; there is nothing to lift."""

    def __init__(self, fence: Fence) -> None:
        self.group, self.result, self.came_of_it = str(fence.group_id), fence.result, fence.detail
        super().__init__(f"This fence has ended before: {fence.result}. There is nothing to lift.")


class FenceVoidError(Exception):
    """Whoever set the fence could not revoke this now, so it does not fire."""


def put(*, group: UUID, reason: str, by: Actor, now: datetime) -> Fence:
    """Have a call in flight revoked when it arrives; where a fence waits already, that one stands.

    Raises NotFoundError, ReadOnlyError, ScopeMissingError, ReasonRequiredError, NotInFlightError. Writes `fence_set`.
    """
    reason = reason.strip()
    with transaction.atomic():
        row = _locked(group)
        authority = policies.check_may_revoke(by, row, reason=reason)
        waiting = row.fences.filter(lifted_at=None, ended_at=None).first()
        if waiting is not None:
            return waiting
        if row.state not in IN_FLIGHT:
            raise NotInFlightError(row)
        fence = Fence.objects.create(
            group=row,
            set_at=now,
            set_by=str(by.party),
            user=by.user,
            agent=by.token.agent if by.token else None,
            token=by.token,
            authority=authority,
            reason=reason,
        )
        data = {**row.call_words(), "authority": fence.authority, "reason": reason}
        log.append([_entry("fence_set", fence, data, by=by)], now=now)
    return fence


def lift(*, group: UUID, reason: str, by: Actor, now: datetime) -> Fence:
    """Take the waiting fence of a call away: a person's judgment. One that was lifted before stays so.

    Raises NotFoundError, ForPersonsOnlyError, ReadOnlyError, ReasonRequiredError, FenceEndedError. Writes
    `fence_lifted`.
    """
    reason = reason.strip()
    with transaction.atomic():
        row = _locked(group)
        policies.check_may_lift(by, row, reason=reason)
        fence = row.fences.first()
        if fence is None:
            raise policies.NotFoundError("fence", str(group))
        if fence.lifted_at is not None:
            return fence
        if not fence.is_waiting:
            raise FenceEndedError(fence)
        fence.lifted_at, fence.lifted_by, fence.lifted_reason = now, str(by.party), reason
        fence.save(update_fields=["lifted_at", "lifted_by", "lifted_reason"])
        data = {**row.call_words(), "set_by": fence.set_by, "reason": reason}
        log.append([_entry("fence_lifted", fence, data, by=by)], now=now)
    return fence


def _locked(group: UUID) -> Group:
    rows = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version")
    row = rows.filter(pk=group).first()
    if row is None:
        raise policies.NotFoundError("group", str(group))
    return row


# -- When it arrives --------------------------------------------------------------------------------------------------


def nudge(group: Group) -> None:
    """Have the fence of a group that has just arrived fire after the commit, where one waits.

    The landing itself never depends on it: a sweep finds what a lost wake-up leaves.
    """
    if group.fences.filter(lifted_at=None, ended_at=None).exists():
        transaction.on_commit(wake_fences, robust=True)


def fire(*, by: Actor, now: datetime) -> int:
    """End every fence whose call has arrived, each by itself, and return how many that were."""
    waiting = Fence.objects.filter(lifted_at=None, ended_at=None, group__state__in=ARRIVED).order_by("pk")
    return sum(_kept_apart(key, by=by, now=now) for key in waiting.values_list("pk", flat=True))


def _kept_apart(fence: UUID, *, by: Actor, now: datetime) -> bool:
    try:
        return fire_one(fence=fence, by=by, now=now) is not None
    except Exception as error:  # noqa: BLE001  (whatever fails for one waits for the next sweep; its neighbours fire)
        logger.error("a fence could not fire: %s", type(error).__name__)  # noqa: TRY400  (its text may hold anything)
        return False


def fire_one(*, fence: UUID, by: Actor, now: datetime) -> Fence | None:
    """Fire one fence whose call has arrived; None where it has ended meanwhile, so that none ever fires twice.

    The revoke and the fence's end are one transaction. Policy is asked again as of now: where whoever set it may not
    revoke this any more, nothing is revoked and the reason is kept. Writes `COMPENSATE` or `revoke_refused`, and
    `fence_ended`.
    """
    with transaction.atomic():
        row = _arrived(fence)
        if row is None:
            return None
        row.result, row.detail = _came_of(row, now=now)
        row.ended_at = now
        row.save(update_fields=["ended_at", "result", "detail"])
        data = {
            **row.group.call_words(),
            "set_by": row.set_by,
            "reason": row.reason,
            "result": row.result,
            "detail": row.detail,
        }
        if row.result == Result.REFUSED:
            notify_of([(row.group, "fence not fired", row.detail)], now=now)
        log.append([_entry("fence_ended", row, data, by=by)], now=now)
    return row


def _arrived(fence: UUID) -> Fence | None:
    """Lock agent, group and fence, in the order of a revoke; None unless it waits for a call that has arrived."""
    known = Fence.objects.get(pk=fence)
    if known.agent_id is not None:
        Agent.objects.select_for_update(no_key=True).get(pk=known.agent_id)
    group = _locked(known.group_id)
    rows = Fence.objects.select_for_update(of=("self",)).select_related("user", "token__agent", "token__owner")
    row = rows.get(pk=fence)
    row.group = group
    return row if row.is_waiting and group.state in ARRIVED else None


def _came_of(row: Fence, *, now: datetime) -> tuple[str, str]:
    """Return how the fence ends, and what to know of that."""
    if row.group.state == GroupState.FAILED:
        return Result.NOTHING_WRITTEN, "the call failed; a later try of it is an action of its own, without a fence"
    try:
        who = _who(row, now=now)
        _check_as_before(row, who)
    except (FenceVoidError, *policies.REFUSALS) as error:
        return Result.REFUSED, str(error)[:500]
    [result] = revoke(groups=[row.group_id], by=who, now=now, reason=row.reason, trigger=Trigger.FENCE)
    if result.answer is None:
        return Result.REFUSED, str(result.refusal)[:500]
    if result.answer.already:
        return Result.NOTHING_LEFT, "it had been taken back before the fence could fire"
    return Result.FIRED, result.answer.outcome.value


def _who(row: Fence, *, now: datetime) -> Actor:
    """Return whoever set the fence as they are now, roles read anew; raises FenceVoidError."""
    if row.agent_id is None:
        if not row.user.is_active:
            raise FenceVoidError("The account of whoever set the fence is closed.")
        return actors.person(row.user)
    if row.token is None or not is_alive(row.token, now):
        raise FenceVoidError("The token of the agent that set the fence has ended or was withdrawn.")
    return actors.agent(row.token)


def _check_as_before(row: Fence, who: Actor) -> None:
    """Let through who may still revoke this for the reason they could then; raises FenceVoidError or the refusal."""
    try:
        authority = policies.check_may_revoke(who, row.group, reason=row.reason)
    except policies.REFUSALS as error:
        raise FenceVoidError(f"Whoever set the fence may not revoke this any more. {error}") from error
    if authority != row.authority:
        raise FenceVoidError(f"The fence was set as {row.authority}; whoever set it is not that any more.")


def _entry(action: str, fence: Fence, data: Mapping[str, object], *, by: Actor) -> log.Entry:
    group = fence.group
    return log.Entry(action, ("group", str(group.pk)), by.party, party_of(group.owner), data, group=str(group.pk))
