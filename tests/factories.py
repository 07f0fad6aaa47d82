"""What do tests need to exist? People, agents and calls, made the way the product makes them."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password

from sideeffects import actors
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from sideeffects.models import Agent, AgentToken, Group, Revocation, Role
from sideeffects.services.declare import declare_tool
from sideeffects.services.execute import execute
from sideeffects.services.land import Recorded
from sideeffects.services.record import Status, ToolCall, record
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transitions import Operation, RevokeClass

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SCOPES = ("record", "propose", "execute", "revoke-own", "read")


PASSWORD = "correct horse battery staple"
_hashed = cache(make_password)  # hashing is slow on purpose; once is enough


def user(name: str, *, role: str = "") -> Any:
    """Return the person of this name, made on first use, with at most one role."""
    model = get_user_model()
    by_mail = model.get_email_field_name() == model.USERNAME_FIELD
    named: dict[str, Any] = {model.USERNAME_FIELD: f"{name}@example.org" if by_mail else name}
    row, created = model._default_manager.get_or_create(**named)
    if created:
        row.password = _hashed(PASSWORD)
        row.save()
    if role:
        Role.objects.get_or_create(user=row, role=role, defaults={"granted_at": NOW, "granted_by": "user:root"})
    return row


def person(name: str) -> Actor:
    """Return alice, bob, charlie, admin or auditor as who asks; the last two have the role of their name."""
    return actors.person(user(name, role=name if name in {"admin", "auditor"} else ""))


def token(*, agent: str = "planner", owner: str = "alice", scopes: Sequence[str] = SCOPES) -> AgentToken:
    """Return a token row whose secret nobody knows, for calls of services."""
    row, _ = Agent.objects.get_or_create(name=agent, defaults={"registered_at": NOW, "registered_by": "user:root"})
    return AgentToken.objects.create(
        agent=row,
        owner=user(owner),
        prefix=secrets.token_hex(6),
        secret_hash=hashlib.sha256(secrets.token_bytes(8)).hexdigest(),
        scopes=list(scopes),
        created_at=NOW,
        created_by="user:root",
    )


def planner(owner: str = "alice", **changes: Any) -> Actor:
    """Return the agent planner, acting for an owner."""
    return actors.agent(token(owner=owner, **changes))


def run(by: Actor, tool: str, arguments: dict[str, Any], *, now: datetime = NOW, **call: Any) -> Recorded:
    """Execute a registered tool as an agent."""
    call.setdefault("conversation", "c1")
    wanted = ToolCall(tool=tool, arguments=arguments, **call)
    return execute(tool=REGISTRY[tool], call=wanted, owner=by.user, by=by, now=now)


def project(by: Actor, *, name: str = "Q3 launch", tasks: int = 10, now: datetime = NOW, **call: Any) -> Group:
    """Create a project with tasks: one action, many rows."""
    titles = [f"Task {number}" for number in range(1, tasks + 1)]
    group = run(by, "project.create", {"name": name, "tasks": titles}, now=now, **call).group
    assert group is not None
    return group


def contact(key: str, operation: Operation = Operation.CREATE, type_: str = "contact") -> Declared:
    """Return one declared object in another system."""
    return Declared(type_, key, operation)


def crm(by: Actor) -> None:
    """Declare the tool crm.create_contact, whose results a target holds."""
    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "DELETE /contacts/{id}"}
    )
    declare_tool(name="crm.create_contact", contract=contract, by=by, now=NOW)


def report(
    by: Actor,
    effects: Sequence[Declared],
    *,
    tool: str = "crm.create_contact",
    arguments: dict[str, Any] | None = None,
    status: Status = Status.LANDED,
    now: datetime = NOW,
    occurrence: int = 0,
    **call: Any,
) -> Recorded:
    """Report a call that ran elsewhere."""
    call.setdefault("conversation", "c1")
    wanted = ToolCall(tool=tool, arguments={"n": 1} if arguments is None else arguments, **call)
    return record(call=wanted, status=status, effects=effects, owner=by.user, by=by, now=now, occurrence=occurrence)


def later(**by: float) -> datetime:
    """Return a time after NOW."""
    return NOW + timedelta(**by)


def revoked(group: Group, by: Actor) -> Revocation:
    """Stand in for what only a target can do: somebody has asked to revoke this, and it was done."""
    return Revocation.objects.create(
        group=group, asked_at=NOW, asked_by=str(by.party), user=by.user, trigger="click", authority="owner"
    )
