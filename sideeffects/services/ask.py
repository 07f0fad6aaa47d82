"""Ask targets for what only they can undo: write one request a member, in the transaction of the revoke."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from audit.wake import wake
from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.compensations import BadCompensationError, NotNameableError, compensation, path_for
from sideeffects.models import Effect, Group, Request, Revocation, Target
from sideeffects.tools import Contract
from sideeffects.transitions import EffectState, Operation, RevokeClass, effect_after

NOT_REGISTERED = "no admin has registered {target} yet"
WINDOW_CLOSED = "its undo window is over as declared; only an admin may still ask {target}"

wake_carrier = partial(wake, "sideeffects.carry_out")
OPEN = frozenset({EffectState.REQUESTING, EffectState.COMPENSATING, EffectState.UNKNOWN})


@dataclass(frozen=True)
class Asked:
    """What would be asked about one effect."""

    method: str
    path: str
    body: Any
    read_path: str


def is_waiting(effect: Effect) -> bool:
    """Say whether an effect stands that only its target could undo."""
    return effect.state == EffectState.ACTIVE and effect.revoke_class == RevokeClass.EXTERNAL


def obstacle(effect: Effect, group: Group, *, by: Actor, now: datetime) -> str:
    """Return why nothing can be asked about this waiting effect, or nothing."""
    target = effect.target.name if effect.target else ""
    if effect.target is None or not effect.target.is_askable:
        return NOT_REGISTERED.format(target=target or "its target")
    if policies.window_is_closed(by, effect, now=now):
        return WINDOW_CLOSED.format(target=target)
    try:
        asked_about(effect, group)
    except (BadCompensationError, NotNameableError) as error:
        return str(error)
    return ""


def asked_about(effect: Effect, group: Group) -> Asked:
    """Return what the contract pinned to the group asks; raises BadCompensationError, NotNameableError."""
    assert group.tool_version is not None
    contract = Contract.from_json(group.tool_version.contract)
    values = {
        "id": effect.object_id,
        "type": effect.type,
        "operation": effect.operation,
        "version": effect.version,
    }
    declared = contract.compensations[Operation(effect.operation).value]
    filled = compensation(declared).filled(values)
    if effect.version and not (effect.version.isascii() and effect.version.isprintable() and '"' not in effect.version):
        raise NotNameableError(effect.version)
    return Asked(filled.method, filled.path, filled.body, path_for(contract.status, values) if contract.status else "")


def ask(members: Mapping[UUID, Iterable[Effect]], revocations: Mapping[UUID, Revocation], *, now: datetime) -> int:
    """Write the requests of these groups and move their members to requesting, in memory and in the database.

    Inside the caller's transaction, which puts COMPENSATE on the log; returns how many there are.
    """
    effects = [(effect, revocations[group]) for group, rows in members.items() for effect in rows]
    requests = [new_request(effect, revocation, now=now) for effect, revocation in effects]
    Request.objects.bulk_create(requests, batch_size=500)
    for effect, _ in effects:
        effect.state, effect.state_at = effect_after(EffectState(effect.state), "request"), now
        effect.restored_at, effect.restored_by = None, ""
    if effects:
        Effect.objects.filter(pk__in=[effect.pk for effect, _ in effects]).update(
            state=EffectState.REQUESTING, state_at=now, restored_at=None, restored_by=""
        )
        transaction.on_commit(wake_carrier, robust=True)
    return len(requests)


def new_request(effect: Effect, revocation: Revocation, *, now: datetime) -> Request:
    """Return the unsaved request about an effect, due at once."""
    group = revocation.group
    asked = asked_about(effect, group)
    assert effect.target is not None
    assert group.tool_version is not None
    return Request(
        effect=effect,
        revocation=revocation,
        target=effect.target,
        tool_version=group.tool_version,
        method=asked.method,
        path=asked.path,
        body=asked.body,
        body_digest=hashlib.sha256(body_bytes(asked.body)).hexdigest() if asked.body is not None else "",
        if_match=effect.version,
        read_path=asked.read_path,
        asked_at=now,
        asked_by=revocation.asked_by,
        user_id=revocation.user_id,
        agent_id=revocation.agent_id,
        state_at=now,
        next_try_at=now,
        stale_at=now + threshold(Contract.from_json(group.tool_version.contract), effect.target),
    )


def body_bytes(body: Any) -> bytes:
    """Return the bytes that are sent."""
    return b"" if body is None else json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def threshold(contract: Contract | None, target: Target | None) -> timedelta:
    """Return how long something may stay unresolved: per tool, else per target, else the default."""
    minutes = (contract.stale_minutes if contract else None) or (target.stale_minutes if target else None)
    return timedelta(minutes=minutes or settings.STALE_MINUTES)
