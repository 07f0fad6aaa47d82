"""Is this deployment well? One function a question, in the order in which one would ask."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from audit import queries as audit_queries
from audit import triggers
from config import env
from config.celery import app
from config.forms import demo_people
from config.templatetags.takeback import span
from sideeffects import proofs
from sideeffects.actors import ADMIN
from sideeffects.batches import counts
from sideeffects.models import AgentToken, Batch, Group, Heartbeat, Role
from sideeffects.tools import REGISTRY
from sideeffects.transitions import GroupState, RevokeClass

SILENT_AFTER = timedelta(minutes=2)  # four heartbeats
UNSEALED_AFTER = timedelta(minutes=5)  # beat seals every ten seconds
UNSIGNED_AFTER = timedelta(minutes=10)
STALE_AFTER = timedelta(minutes=60)
STILL_AFTER = timedelta(minutes=5)  # a chunk takes seconds, and beat looks every five of them
EXPIRES_SOON = timedelta(days=7)
OPEN_TO_OTHERS = 0o077


class State(StrEnum):
    """What a check found; `unknown` is said where nothing can be known, and never for a yes."""

    OK = "ok"
    UNKNOWN = "unknown"
    NEEDS_A_PERSON = "needs a person"


@dataclass(frozen=True)
class Finding:
    """What one check found, in a sentence."""

    check: str
    state: State
    detail: str


Found = tuple[State, str]


def database(_now: datetime) -> Found:
    """Answer a query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    version = ".".join(str(part) for part in connection.get_database_version()) if connection.vendor != "sqlite" else ""
    return State.OK, f"{connection.display_name} {version}".strip()


def migrations(_now: datetime) -> Found:
    """Have every migration applied."""
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        return State.NEEDS_A_PERSON, f"{len(waiting)} not applied: run `manage.py migrate`"
    return State.OK, "all applied"


def log_triggers(_now: datetime) -> Found:
    """Have the triggers that make the log append-only."""
    missing = triggers.missing(connection)
    if missing:
        return State.NEEDS_A_PERSON, f"missing: {', '.join(missing)}; `manage.py migrate` puts them back"
    return State.OK, "the log's tables refuse update, delete and truncate"


def broker(_now: datetime) -> Found:
    """Reach the broker, within two seconds."""
    with app.connection_for_write() as link:
        if link.transport.driver_type == "memory":
            return State.OK, "inside the one process of `up`; other processes cannot reach it"
        try:
            link.ensure_connection(max_retries=1, timeout=2)
        except Exception as error:  # noqa: BLE001  (whatever keeps a broker away is the finding)
            return (
                State.NEEDS_A_PERSON,
                f"{link.as_uri()} cannot be reached ({type(error).__name__}); sweeps still work",
            )
        return State.OK, link.as_uri()


def _heart(name: str, now: datetime) -> Found:
    row = Heartbeat.objects.filter(name=name).first()
    if row is None:
        return State.UNKNOWN, "has never been seen here"
    age = span(now - row.at)
    if now - row.at > SILENT_AFTER:
        return State.NEEDS_A_PERSON, f"silent for {age}"
    return State.OK, f"seen {age} ago"


def beat(now: datetime) -> Found:
    """Have seen beat a moment ago."""
    return _heart("beat", now)


def worker(now: datetime) -> Found:
    """Have seen a worker a moment ago."""
    return _heart("worker", now)


def unsealed(now: datetime) -> Found:
    """Have every record in the chain, or only just written."""
    numbers = audit_queries.numbers()
    if numbers.oldest_unsealed_at is None:
        return State.OK, f"none of the log {settings.AUDIT_LOG}"
    age = now - numbers.oldest_unsealed_at
    state = State.NEEDS_A_PERSON if age > UNSEALED_AFTER else State.OK
    return state, f"{numbers.unsealed} wait for their seal, the oldest for {span(age)}"


def checkpoints(now: datetime) -> Found:
    """Have every sealed record covered by a checkpoint, or only just sealed."""
    numbers = audit_queries.numbers()
    if not numbers.size:
        return State.UNKNOWN, f"the log {settings.AUDIT_LOG} holds no sealed record yet"
    last = numbers.checkpoint
    if last is None:
        return State.NEEDS_A_PERSON, "none was ever signed: does the worker run `audit.checkpoint`?"
    age = now - last.published_at
    said = f"the last covers {last.size} of {numbers.size}, signed {span(age)} ago"
    late = numbers.size > last.size and age > UNSIGNED_AFTER
    return (State.NEEDS_A_PERSON, f"{said}; the worker's log says why") if late else (State.OK, said)


def open_calls(now: datetime) -> Found:
    """Have no call that has been in flight for too long."""
    waiting = Group.objects.filter(state=GroupState.OPEN)
    oldest = waiting.order_by("opened_at").first()
    if oldest is None:
        return State.OK, "none in flight"
    age = now - oldest.opened_at
    state = State.NEEDS_A_PERSON if age > STALE_AFTER else State.OK
    return state, f"{waiting.count()} in flight, the oldest ({oldest.tool}) for {span(age)}"


def batches(now: datetime) -> Found:
    """Have every batch at work move; one that somebody stopped is left to them."""
    moved = counts.moved().values()
    stopped = Batch.objects.filter(state=Batch.State.STOPPED).count()
    said = f"{len(moved)} at work, {stopped} stopped"
    if not moved or now - min(moved) <= STILL_AFTER:
        return State.OK, said
    return State.NEEDS_A_PERSON, f"{said}; one has not moved for {span(now - min(moved))}: does a worker run?"


def tools(_now: datetime) -> Found:
    """Have every tool that promises a way back proven by an outcome; declaring is not being."""
    known = [tool for tool in proofs.tools() if tool.contract.revoke_class is not RevokeClass.NONE]
    proven = {tool.name for tool in known if tool.proof.is_proven}
    here = {name for name, tool in REGISTRY.items() if tool.contract.revoke_class is not RevokeClass.NONE}
    if names := sorted(({tool.name for tool in known} | here) - proven):
        return State.UNKNOWN, f"not proven by the last try (see the questions below): {some(names)}"
    return State.OK, f"{len(proven)} proven by what they did" if proven else "none declared"


def admins(_now: datetime) -> Found:
    """Have somebody who can look after this."""
    count = Role.objects.filter(role=ADMIN, user__is_active=True).count()
    if not count:
        return State.NEEDS_A_PERSON, "nobody is admin: `manage.py grant_role --user NAME --role admin`"
    return State.OK, f"{count} with an open account"


def tokens(now: datetime) -> Found:
    """Have no token that will surprise its agent."""
    alive = AgentToken.objects.filter(withdrawn_at=None)
    soon = alive.filter(expires_at__gt=now, expires_at__lte=now + EXPIRES_SOON).select_related("agent")
    if names := sorted(f"{token.agent.name} ({token.prefix}…)" for token in soon):
        return State.NEEDS_A_PERSON, f"end within {EXPIRES_SOON.days} days: {some(names)}"
    endless = alive.filter(expires_at=None).count()
    return State.OK, f"none ends within {EXPIRES_SOON.days} days; {endless} never do"


def demo(_now: datetime) -> Found:
    """Have made-up people in the demonstration only, and the demonstration on this machine only."""
    names = sorted(person.get_username() for person in demo_people())
    if names and not settings.DEMO:
        return State.NEEDS_A_PERSON, f"made-up people among real ones, kept out: {some(names)}. Close their accounts"
    elsewhere = sorted(set(settings.ALLOWED_HOSTS) - {"localhost", "127.0.0.1", "[::1]"})
    if settings.DEMO and elsewhere:
        return State.NEEDS_A_PERSON, f"the demonstration answers under {some(elsewhere)}"
    return State.OK, "on, on this machine only" if settings.DEMO else "off, and nobody made up"


def keys(_now: datetime) -> Found:
    """Have the secret key where only its owner reads it."""
    if env.text("TAKEBACK_SECRET_KEY"):
        return State.OK, "secret key from the environment"
    kept = settings.DATA_DIR / "keys" / "secret_key"
    if os.name == "posix" and kept.stat().st_mode & OPEN_TO_OTHERS:
        return State.NEEDS_A_PERSON, "others on this machine can read keys/secret_key: chmod 600"
    return State.OK, "secret key from keys/secret_key in the data folder, for its owner only"


CHECKS: Sequence[Callable[[datetime], Found]] = (
    database, migrations, log_triggers, broker, beat, worker, unsealed, checkpoints, open_calls, batches,
    tools, admins, tokens, demo, keys,
)  # fmt: skip


def examine(*, now: datetime, checks: Sequence[Callable[[datetime], Found]] = CHECKS) -> list[Finding]:
    """Ask every question; what cannot be answered for want of a database is unknown, save the database itself."""
    return [Finding(check.__name__.replace("_", " "), *asked(check, now)) for check in checks]


def asked(check: Callable[[datetime], Found], now: datetime) -> Found:
    """Return what a check finds; where it cannot be answered, that it is unknown."""
    try:
        return check(now)
    except DatabaseError as error:
        state = State.NEEDS_A_PERSON if check is database else State.UNKNOWN
        return state, f"the database does not answer ({type(error).__name__})"
    except OSError as error:
        return State.UNKNOWN, f"cannot be looked at ({type(error).__name__})"


def some(names: Sequence[Any], most: int = 5) -> str:
    """Return a few names and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more
