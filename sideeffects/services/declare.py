"""Declare a tool's contract or a target's name, as a new version that stands beside the old ones."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from audit import log
from sideeffects.actors import Actor
from sideeffects.lookups import Lookup
from sideeffects.models import Target, Tool, ToolVersion
from sideeffects.tools import REGISTRY, Contract

_NEWEST = Lookup(ToolVersion, "tool__name", "target", "tool", order="-number")


def digest_of(contract: Contract) -> str:
    """Return the SHA-256 of a contract's canonical form, hex."""
    return hashlib.sha256(json.dumps(contract.as_json(), sort_keys=True).encode()).hexdigest()


@transaction.atomic
def declare_target(*, name: str, base_url: str, audience: str, by: Actor, now: datetime) -> Target:
    """Make a target's name known; what is known already stays as it is, since only an admin may change it.

    Writes `target_seen`. Nothing is asked of a target by this.
    """
    target, created = Target.objects.get_or_create(
        name=name, defaults={"base_url": base_url, "audience": audience, "seen_at": now, "seen_by": str(by.party)}
    )
    if created:
        entry = log.Entry(
            action="target_seen",
            target=("target", name),
            actor=by.party,
            owner=None,
            data={"name": name, "base_url": base_url, "audience": audience},
        )
        log.append([entry], now=now)
    return target


@transaction.atomic
def declare_tool(*, name: str, contract: Contract, by: Actor, now: datetime) -> ToolVersion:
    """Return the version that holds this contract, adding one where the newest says something else.

    Writes `tool_declared` where it adds one.
    """
    digest = digest_of(contract)
    newest = _newest(name)
    if newest is not None and newest.digest == digest:
        return newest
    tool, _ = Tool.objects.get_or_create(name=name)
    Tool.objects.select_for_update().get(pk=tool.pk)
    newest = _newest(name)
    if newest is not None and newest.digest == digest:
        return newest
    target = _target_of(contract, by=by, now=now)
    version = ToolVersion.objects.create(
        tool=tool,
        number=(newest.number if newest else 0) + 1,
        contract=contract.as_json(),
        digest=digest,
        target=target,
        declared_at=now,
        declared_by=str(by.party),
    )
    entry = log.Entry(
        action="tool_declared",
        target=("tool", name),
        actor=by.party,
        owner=None,
        data={
            "tool": name,
            "version": str(version.number),
            "digest": digest,
            "declaration": contract.as_json(),
        },
    )
    log.append([entry], now=now)
    return version


def version_of(name: str, *, by: Actor, now: datetime) -> ToolVersion | None:
    """Return the contract in force for a tool: what this process registers, else the newest declared, else none."""
    registered = REGISTRY.get(name)
    if registered is not None:
        return declare_tool(name=name, contract=registered.contract, by=by, now=now)
    return _newest(name)


def sync(*, by: Actor, now: datetime) -> Sequence[ToolVersion]:
    """Declare everything that this process registers, so that pages show it before its first call."""
    return [declare_tool(name=tool.name, contract=tool.contract, by=by, now=now) for tool in REGISTRY.values()]


def _newest(name: str) -> ToolVersion | None:
    return _NEWEST.first(name)


def _target_of(contract: Contract, *, by: Actor, now: datetime) -> Target | None:
    if not contract.target:
        return None
    return declare_target(name=contract.target, base_url="", audience="", by=by, now=now)
