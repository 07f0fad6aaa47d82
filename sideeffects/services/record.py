"""Record what an agent did: the one way in for calls that ran elsewhere and for calls that run here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from django.db import IntegrityError, connection, transaction

from audit import log
from sideeffects import declarations, policies
from sideeffects.actors import Actor, party_of
from sideeffects.declarations import Declared, declaration_digest
from sideeffects.models import Declaration, Group, ToolVersion
from sideeffects.services.declare import version_of
from sideeffects.services.land import NotReportedError, Recorded, Written, classified, end, settle
from sideeffects.tools import Contract
from sideeffects.transitions import GroupState

Source = Group.Source
_HOLDERS = "SELECT 1 FROM sideeffects_group WHERE owner_id = %s AND key = %s AND NOT state = 'failed' LIMIT 1"


class Check(Protocol):
    """What another app asks of a call before it is recorded or run; it raises its refusal."""

    def __call__(self, call: "ToolCall", *, executed: bool, owner: Any, by: Actor, now: datetime) -> None:
        """Let a call through."""


CHECKS: list[Check] = []


class Status(StrEnum):
    """What the agent says of its call."""

    LANDED = "landed"
    IN_FLIGHT = "in_flight"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call of a tool, as the agent made it; `idempotency_key` only where the caller named one."""

    tool: str
    arguments: Mapping[str, Any]
    conversation: str
    run: str = ""
    execution: str = ""
    step: str = ""
    idempotency_key: str = ""


class KeyReusedError(Exception):
    """One explicit key, two different calls (R1, R2)."""

    def __init__(self, first: Group) -> None:
        self.group, self.tool = str(first.pk), first.tool
        super().__init__(
            "This Idempotency-Key was used for another call; its first use stands and nothing was written."
        )


class ToolBlockedError(Exception):
    """The tool may not be used at all."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"The tool {tool} is blocked here; nothing has happened.")


def key_of(call: ToolCall, *, owner: Any, by: Actor, executed: bool = False) -> str:
    """Return the key that holds this call to once: the caller's own, else the hash of what was asked."""
    if call.idempotency_key:
        return declarations.explicit_key(
            owner=str(owner.pk), agent=f"{by.party.type}:{by.party.id}", key=call.idempotency_key
        )
    return declarations.group_key(
        owner=str(owner.pk),
        conversation=call.conversation,
        tool=call.tool,
        arguments=call.arguments,
        executed=executed,
    )


def check_same_call(group: Group, call: ToolCall) -> None:
    """Let through what asks the same under the same key; raises KeyReusedError."""
    if group.fingerprint != declarations.fingerprint(tool=call.tool, arguments=call.arguments):
        raise KeyReusedError(group)


def check_not_blocked(call: ToolCall, version: ToolVersion | None, *, owner: Any, by: Actor, now: datetime) -> None:
    """Refuse a blocked tool before anything happens; raises ToolBlockedError, writes `call_refused`."""
    if version is None or not Contract.from_json(version.contract).blocked:
        return
    log_refused(call, reason="tool-blocked", owner=owner, by=by, now=now)
    raise ToolBlockedError(call.tool)


def check_let_through(call: ToolCall, *, executed: bool, owner: Any, by: Actor, now: datetime) -> None:
    """Let through a call that every app lets through; raises the refusal of the one that does not."""
    for check in CHECKS:
        check(call, executed=executed, owner=owner, by=by, now=now)


def log_refused(call: ToolCall, *, reason: str, owner: Any, by: Actor, now: datetime) -> None:
    """Write `call_refused`, in a transaction of its own, after whatever was begun has been undone."""
    entry = log.Entry(
        action="call_refused",
        target=("tool", call.tool),
        actor=by.party,
        owner=party_of(owner),
        data={"tool": call.tool, "conversation": call.conversation, "reason": reason},
    )
    with transaction.atomic():
        log.append([entry], now=now)


def generations(key: str, *, owner: Any) -> list[Group]:
    """Return the groups that hold a key, oldest first, locked in the order in which a revoke locks them.

    A failed group holds none. There is more than one where the call was done again after a revoke.
    """
    if not _is_held(key, owner):  # most calls are new; what comes in between fails on the key, and the call looks again
        return []
    groups = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version__target")
    rows = groups.filter(owner=owner, key=key).exclude(state=GroupState.FAILED).order_by("pk")
    return sorted(rows, key=lambda group: group.generation)


def _is_held(key: str, owner: Any) -> bool:
    """Ask in plain SQL: every call that is recorded asks this, and the ORM takes three times as long."""
    owners = Group._meta.get_field("owner").target_field
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, [owners.get_db_prep_value(owner.pk, connection), key])
        return cursor.fetchone() is not None


def new_group(
    call: ToolCall,
    *,
    key: str,
    version: ToolVersion | None,
    source: str,
    owner: Any,
    by: Actor,
    now: datetime,
    generation: int = 0,
    lease_until: datetime | None = None,
) -> Group:
    """Return an open group for a call, unsaved; its insert raises IntegrityError where another holds the key by now."""
    contract = Contract.from_json(version.contract) if version else None
    return Group(
        owner=owner,
        agent=by.token.agent if by.token else None,
        tool=call.tool,
        tool_version=version,
        source=source,
        conversation=call.conversation,
        run=call.run,
        execution=call.execution,
        step=call.step,
        title=contract.title_of(call.arguments)[:500] if contract else "",
        key=key,
        explicit_key=bool(call.idempotency_key),
        fingerprint=declarations.fingerprint(tool=call.tool, arguments=call.arguments),
        generation=generation,
        again_after_revoke=generation > 0,
        state=GroupState.OPEN,
        lease_until=lease_until,
        opened_at=now,
        opened_by=str(by.party),
    )


def opened(group: Group, *, by: Actor, now: datetime) -> Recorded:
    """Insert an open group and write `group_opened`: the intent of a call that has not landed."""
    group.save(force_insert=True)
    entry = log.Entry(
        action="group_opened",
        target=("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        data=group.call_words(),
    )
    return Recorded("opened", group, created=True, written=Written(log.append([entry], now=now)))


def record(
    *,
    call: ToolCall,
    status: Status,
    effects: Sequence[Declared],
    owner: Any,
    by: Actor,
    now: datetime,
    source: str = Source.REPORTED,
    occurrence: int = 0,
) -> Recorded:
    """Record a call that ran elsewhere, once for its key, however often it is declared.

    `effects`: principal first. `occurrence`: see `land.settle`. Raises ScopeMissingError, NotCanonicalError,
    ToolBlockedError (only for what is announced: what has happened is recorded, blocked or not), KeyReusedError,
    NotReportedError. A differing declaration is kept and returned as `conflict`, never raised here, so that it is
    committed.
    """
    policies.check_may_record(by, executing=source == Source.REPORTED and bool(call.execution))
    key = key_of(call, owner=owner, by=by)
    if source != Source.IMPORTED:
        check_let_through(call, executed=False, owner=owner, by=by, now=now)
    version = version_of(call.tool, by=by, now=now)
    if status is Status.IN_FLIGHT and source != Source.IMPORTED:
        check_not_blocked(call, version, owner=owner, by=by, now=now)
    arguments = {"key": key, "version": version, "source": source, "owner": owner, "by": by, "now": now}
    try:
        with transaction.atomic():
            return _once(call, status, effects, occurrence=occurrence, **arguments)
    except IntegrityError:  # a twin came first; this one now finds it
        with transaction.atomic():
            return _once(call, status, effects, occurrence=occurrence, **arguments)


def _once(
    call: ToolCall,
    status: Status,
    effects: Sequence[Declared],
    *,
    key: str,
    version: ToolVersion | None,
    source: str,
    owner: Any,
    by: Actor,
    now: datetime,
    occurrence: int,
) -> Recorded:
    known = generations(key, owner=owner)
    for group in known[-1:]:
        check_same_call(group, call)
        if group.source == Source.EXECUTED:
            raise NotReportedError(group)
    if status is Status.FAILED:
        return _failed(known, by=by, now=now)
    found = _meant(known, effects, status)
    group = found or new_group(
        call, key=key, version=version, source=source, owner=owner, by=by, now=now, generation=_next(known)
    )
    if status is Status.IN_FLIGHT:
        return Recorded("replayed", group) if found else opened(group, by=by, now=now)
    pinned = group.tool_version
    contract = Contract.from_json(pinned.contract) if pinned else None
    new = classified(effects, contract, pinned.target if pinned else None)
    result = settle(group, new, by=by, now=now, occurrence=occurrence)
    return result if found else replace(result, created=True)


def _failed(known: Sequence[Group], *, by: Actor, now: datetime) -> Recorded:
    """Write nothing for a failure reported at once; fail the call where it was open."""
    if known and known[-1].state == GroupState.OPEN:
        return Recorded("failed", end(known[-1], "fail", reason="", by=by, now=now))
    return Recorded("failed")


def _next(known: Sequence[Group]) -> int:
    return known[-1].generation + 1 if known else 0


def _meant(known: Sequence[Group], effects: Sequence[Declared], status: Status) -> Group | None:
    """Return the generation that a call means, or none where it is done for the first time or anew.

    What one of them has declared is a replay of that one, for ever; else it is the newest, unless that was revoked:
    then other effects have happened again, and so will a call that is announced.
    """
    if not known:
        return None
    newest = known[-1]
    if newest.state != GroupState.LANDED:
        return newest
    if status is Status.LANDED:
        same = Declaration.objects.filter(group__in=known, digest=declaration_digest(effects))
        holders = set(same.values_list("group_id", flat=True))
        if holder := next((group for group in reversed(known) if group.pk in holders), None):
            return holder
    return None if newest.revocations.filter(restored_at=None).exists() else newest
