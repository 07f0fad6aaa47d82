"""With which public keys do agents sign their plans?"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django.db import transaction

from audit import log
from plans.core.signature import KEY_BYTES
from plans.models import AgentKey
from sideeffects.actors import Actor
from sideeffects.models import Agent


class KeysNotYoursToChangeError(Exception):
    """Only an admin, or the system on its own machine, registers and withdraws keys."""

    def __init__(self) -> None:
        super().__init__("Only an admin registers and withdraws keys.")


class BadKeyError(Exception):
    """What was given is no Ed25519 public key, or belongs to no agent that is known."""

    def __init__(self, member: str, detail: str) -> None:
        self.errors = [{"member": member, "detail": detail}]
        super().__init__(detail)


class NoSuchKeyError(Exception):
    """There is no such key."""

    def __init__(self, key: object) -> None:
        self.key = str(key)
        super().__init__("There is no such key.")


def register(*, agent: str, public_key: str, by: Actor, now: datetime) -> AgentKey:
    """Register a public key (PEM, or base64 of its 32 bytes) for an agent that is known.

    A key that is registered already is returned as it is; one that was withdrawn stays withdrawn and is refused.
    Raises KeysNotYoursToChangeError, BadKeyError.
    """
    raw = _read(public_key)
    fingerprint = hashlib.sha256(raw).hexdigest()
    with transaction.atomic():
        _check_may_change(by)
        row = Agent.objects.select_for_update().filter(name=agent).first()
        if row is None:
            raise BadKeyError("agent", f"No agent is called {agent}.")
        known = AgentKey.objects.filter(agent=row, fingerprint=fingerprint).first()
        if known is not None:
            if known.withdrawn_at is not None:
                raise BadKeyError("public_key", "This key was withdrawn; a new one is needed.")
            return known
        key = AgentKey.objects.create(
            agent=row, public_key=raw, fingerprint=fingerprint, registered_at=now, registered_by=str(by.party)
        )
        log.append([_entry(action="agent_key_registered", key=key, by=by)], now=now)
    return key


def withdraw(*, keys: Sequence[Any], by: Actor, now: datetime) -> list[AgentKey]:
    """Withdraw keys by their ids, for ever; return those withdrawn now. What was accepted before stays accepted.

    Raises KeysNotYoursToChangeError, NoSuchKeyError for the first that is not there; then none is withdrawn.
    """
    with transaction.atomic():
        _check_may_change(by)
        locked = AgentKey.objects.select_for_update(of=("self",)).select_related("agent").order_by("pk")
        rows = {row.pk: row for row in locked.filter(pk__in=keys)}
        for wanted in keys:
            if wanted not in rows:
                raise NoSuchKeyError(wanted)
        fresh = [row for row in rows.values() if row.withdrawn_at is None]
        for row in fresh:
            row.withdrawn_at, row.withdrawn_by = now, str(by.party)
        AgentKey.objects.bulk_update(fresh, ["withdrawn_at", "withdrawn_by"])
        if fresh:
            log.append([_entry(action="agent_key_withdrawn", key=row, by=by) for row in fresh], now=now)
    return fresh


def _check_may_change(by: Actor) -> None:
    if not (by.is_admin or by.system):
        raise KeysNotYoursToChangeError


def _read(text: str) -> bytes:
    """Return the 32 bytes of a key given as PEM or base64."""
    try:
        if "BEGIN" in text:
            key = load_pem_public_key(text.strip().encode())
            raw = key.public_bytes_raw() if isinstance(key, Ed25519PublicKey) else b""
        else:
            raw = base64.b64decode(text.strip(), validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise BadKeyError("public_key", "An Ed25519 public key is needed, as PEM or as base64 of its 32 bytes.")
    return raw


def _entry(*, action: str, key: AgentKey, by: Actor) -> log.Entry:
    return log.Entry(
        action=action,
        target=("agent_key", str(key.pk)),
        actor=by.party,
        owner=None,
        data={"agent": key.agent.name, "fingerprint": key.fingerprint},
        subjects=[("agent", str(key.agent_id))],
    )
