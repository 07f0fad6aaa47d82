"""Say which systems may be asked, how, and how much at once: an admin's decision, on the log."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from audit import log
from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.compensations import check_path, compensation
from sideeffects.models import Request, Target, ToolVersion
from sideeffects.services.ask import wake_carrier
from sideeffects.services.declare import declare_tool
from sideeffects.targets.addresses import check_url
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transitions import EffectState, RevokeClass
from sideeffects.vault import close

MAPPING = {"pointer": "/status", "done": ["done", "succeeded"], "failed": ["failed"], "pending": ["pending"]}
SUSPENDS = ("base_url", "audience", "mapping")  # a change of these leaves open requests to an admin
LARGEST_CAP = 200


class BadTargetError(Exception):
    """Something about a target cannot be meant; `member` names it."""

    def __init__(self, member: str, why: str) -> None:
        self.member = member
        super().__init__(f"{member}: {why}")


class ToolIsCodeError(Exception):
    """A tool is declared by the program itself, so it cannot be declared here."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool} is declared by the program that runs here; change it there.")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that an admin says of a target; an empty `callback_secret` leaves the one that is kept."""

    base_url: str
    audience: str
    mapping: Mapping[str, Any] = field(default_factory=lambda: dict(MAPPING))
    callback_secret: str = ""
    stale_minutes: int | None = None
    max_in_flight: int = 10


def register(*, name: str, wanted: Settings, by: Actor, now: datetime) -> Target:
    """Register a target, or change what is registered. A changed address or mapping suspends its open requests.

    Raises ForAdminsOnlyError, BadTargetError, HostRefusedError, HostUnknownError. Writes `target_registered` or
    `target_changed`.
    """
    policies.check_may_manage(by, "register targets")
    _check(name, wanted)
    with transaction.atomic():
        Target.objects.get_or_create(name=name, defaults={"seen_at": now, "seen_by": str(by.party)})
        row = Target.objects.select_for_update(no_key=True).get(name=name)
        before = _facts(row)
        known = row.registered_at is not None
        row.base_url, row.audience, row.mapping = wanted.base_url.rstrip("/"), wanted.audience, dict(wanted.mapping)
        row.stale_minutes, row.max_in_flight = wanted.stale_minutes, wanted.max_in_flight
        if wanted.callback_secret:
            row.callback_secret = close(wanted.callback_secret, about=f"callbacks of {name}")
        if not known:
            row.registered_at, row.registered_by = now, str(by.party)
        row.unreachable_since, row.unreachable_why, row.unreachable_tries, row.probe_at = None, "", 0, None
        row.save()
        after = _facts(row)
        suspended = _suspend(row, now=now) if known and any(before[key] != after[key] for key in SUSPENDS) else 0
        log.append([_entry(row, before if known else None, after, wanted, suspended, by=by)], now=now)
        transaction.on_commit(wake_carrier, robust=True)
    return row


def new_secret() -> str:
    """Return a secret for a target's callbacks, as Standard Webhooks writes one."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def disable(*, name: str, by: Actor, now: datetime) -> Target:
    """Have nothing asked of a target until it is enabled; what waits says "not sent". Writes `target_disabled`."""
    return _switch(name, on=False, by=by, now=now)


def enable(*, name: str, by: Actor, now: datetime) -> Target:
    """Let requests to a target go again. Writes `target_enabled`."""
    return _switch(name, on=True, by=by, now=now)


def resume(*, name: str, by: Actor, now: datetime) -> int:
    """Let requests go on that a changed target had suspended, and return how many. Writes `requests_resumed`."""
    policies.check_may_manage(by, "resume requests")
    with transaction.atomic():
        row = _locked(name)
        number = Request.objects.filter(target=row).exclude(suspended_at=None).update(suspended_at=None)
        data = {"name": name, "requests": str(number)}
        log.append([log.Entry("requests_resumed", ("target", name), by.party, None, data)], now=now)
        transaction.on_commit(wake_carrier, robust=True)
    return number


def declare(*, tool: str, contract: Contract, by: Actor, now: datetime) -> ToolVersion:
    """Declare what a tool that runs elsewhere promises: class, target, compensations, status path, thresholds.

    Calls made before keep what was declared then. Raises ForAdminsOnlyError, ToolIsCodeError, BadTargetError,
    BadCompensationError. Writes `tool_declared`.
    """
    policies.check_may_manage(by, "declare tools")
    if tool in REGISTRY:
        raise ToolIsCodeError(tool)
    if contract.revoke_class is RevokeClass.LOCAL:
        raise BadTargetError("revoke_class", "only what runs here can be taken back here")
    if contract.revoke_class is RevokeClass.EXTERNAL and not (contract.target and contract.compensations):
        raise BadTargetError("compensations", "name the target, and what undoes each operation")
    for declared in contract.compensations.values():
        compensation(declared)
    if contract.status:
        check_path(contract.status)
    return declare_tool(name=tool, contract=contract, by=by, now=now)


def _check(name: str, wanted: Settings) -> None:
    if not name or name != name.strip() or "/" in name:
        raise BadTargetError("name", "a name without blanks around it and without /")
    if not wanted.audience.strip():
        raise BadTargetError("audience", "tokens are made out to exactly one audience")
    if not 1 <= wanted.max_in_flight <= LARGEST_CAP:
        raise BadTargetError("max_in_flight", f"between 1 and {LARGEST_CAP}")
    if wanted.stale_minutes is not None and wanted.stale_minutes < 1:
        raise BadTargetError("stale_minutes", "at least 1")
    check_mapping(wanted.mapping)
    check_url(wanted.base_url, allowed=settings.TARGET_HOSTS)


def check_mapping(mapping: Mapping[str, Any]) -> None:
    """Let through what can be meant as a mapping of answers; raises BadTargetError."""
    lists = [mapping.get(name, []) for name in ("done", "failed", "pending")]
    known = set(mapping) <= {"pointer", "done", "failed", "pending"}
    texts = all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists)
    if not known or not texts or (mapping and not str(mapping.get("pointer", "")).startswith("/")):
        raise BadTargetError("mapping", "a pointer (/status) and the words for done, failed and pending")


def _locked(name: str) -> Target:
    row = Target.objects.select_for_update(no_key=True).filter(name=name).first()
    if row is None or not row.is_askable:
        raise policies.NotFoundError("target", name)
    return row


def _switch(name: str, *, on: bool, by: Actor, now: datetime) -> Target:
    policies.check_may_manage(by, "enable targets" if on else "disable targets")
    with transaction.atomic():
        row = _locked(name)
        if (row.disabled_at is None) is on:
            return row
        row.disabled_at, row.disabled_by = (None, "") if on else (now, str(by.party))
        row.save(update_fields=["disabled_at", "disabled_by"])
        action = "target_enabled" if on else "target_disabled"
        log.append([log.Entry(action, ("target", name), by.party, None, {"name": name})], now=now)
        transaction.on_commit(wake_carrier, robust=True)
    return row


def _suspend(row: Target, *, now: datetime) -> int:
    open_ = Request.objects.filter(
        target=row, current=True, suspended_at=None, state__in=[EffectState.REQUESTING, EffectState.COMPENSATING]
    )
    return open_.update(suspended_at=now)


def _facts(row: Target) -> dict[str, Any]:
    return {
        "base_url": row.base_url,
        "audience": row.audience,
        "mapping": row.mapping,
        "stale_minutes": "" if row.stale_minutes is None else str(row.stale_minutes),
        "max_in_flight": str(row.max_in_flight),
    }


def _entry(
    row: Target,
    before: dict[str, Any] | None,
    after: dict[str, Any],
    wanted: Settings,
    suspended: int,
    *,
    by: Actor,
) -> log.Entry:
    data = {
        "name": row.name,
        "settings": after,
        "secret_changed": "true" if wanted.callback_secret else "false",
    }
    if before is None:
        return log.Entry("target_registered", ("target", row.name), by.party, None, data)
    changed = {key: value for key, value in before.items() if value != after[key]}
    data = {**data, "before": changed, "suspended": str(suspended)}
    return log.Entry("target_changed", ("target", row.name), by.party, None, data)
