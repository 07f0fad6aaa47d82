"""How does an agent get a key, lose it, and prove that it has it?"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from audit import log
from sideeffects.actors import SCOPES, Actor, party_of
from sideeffects.lookups import Lookup
from sideeffects.models import Agent, AgentToken

MARK = "tkb"  # tokens begin with it, so that secret scanners and people recognise one
LONGEST_NAME = 100
_BY_PREFIX = Lookup(AgentToken, "prefix", "agent", "owner")
SEEN_EVERY = timedelta(minutes=1)  # `last_used_at` is written no more often than this


class NotYourTokenError(Exception):
    """There is no such token, or it does not act for whoever asks."""

    def __init__(self, token: object) -> None:
        self.token = str(token)
        super().__init__("There is no such token.")


class BadTokenRequestError(Exception):
    """A token was asked for that could do nothing, or something unknown."""

    def __init__(self, member: str, detail: str) -> None:
        self.errors = [{"member": member, "detail": detail}]
        super().__init__(detail)


class TokensNotYoursToMakeError(Exception):
    """Only an admin, or the system on its own machine, makes tokens."""

    def __init__(self) -> None:
        super().__init__("Only an admin makes tokens.")


def create(  # the answer holds the secret, which exists nowhere else
    *,
    agent: str,
    owner: Any,
    scopes: Sequence[str],
    by: Actor,
    now: datetime,
    expires_at: datetime | None = None,
    name: str = "",
) -> tuple[AgentToken, str]:
    """Make a token with which `agent` acts for `owner`; return it and its secret, readable this once.

    Raises TokensNotYoursToMakeError, BadTokenRequestError.
    """
    with transaction.atomic():
        if not (by.is_admin or by.system):
            raise TokensNotYoursToMakeError
        agent, name = agent.strip(), name.strip()
        _check(agent, name, owner, scopes)
        if expires_at is not None and expires_at <= now:
            raise BadTokenRequestError("expires_at", "This time is past.")
        row = _agent(agent, by=by, now=now)
        secret = secrets.token_urlsafe(32)
        token = AgentToken.objects.create(
            agent=row,
            owner=owner,
            name=name,
            prefix=secrets.token_hex(6),
            secret_hash=_hash(secret),
            scopes=sorted(set(scopes), key=SCOPES.index),
            created_at=now,
            created_by=str(by.party),
            expires_at=expires_at,
        )
        ends = expires_at.isoformat() if expires_at else ""
        entry = _entry(action="token_created", token=token, by=by, scopes=token.scopes, expires_at=ends)
        log.append([entry], now=now)
    return token, f"{MARK}_{token.prefix}_{secret}"


def withdraw(*, tokens: Sequence[Any], by: Actor, now: datetime) -> list[AgentToken]:
    """Withdraw tokens by their ids, at once and for ever; return those withdrawn now. One's own, or any as admin.

    Raises NotYourTokenError for the first that is not there or not theirs; then none is withdrawn.
    """
    with transaction.atomic():
        rows = {
            row.pk: row
            for row in AgentToken.objects.select_for_update(of=("self",))
            .select_related("agent", "owner")
            .filter(pk__in=tokens)
            .order_by("pk")
        }
        for wanted in tokens:
            row = rows.get(wanted)
            if row is None or not (by.is_admin or by.system or (by.is_person and by.owns(row.owner_id))):
                raise NotYourTokenError(wanted)
        fresh = [row for row in rows.values() if row.withdrawn_at is None]
        for row in fresh:
            row.withdrawn_at, row.withdrawn_by = now, str(by.party)
        AgentToken.objects.bulk_update(fresh, ["withdrawn_at", "withdrawn_by"])
        if fresh:
            log.append([_entry(action="token_withdrawn", token=row, by=by) for row in fresh], now=now)
    return fresh


def authenticate(*, secret: str, now: datetime) -> AgentToken | None:
    """Return the token whose secret this is if it is alive, else None; who asks learns nothing of why.

    The secret is 256 random bits, so one SHA-256 is enough: there is nothing to guess.
    """
    mark, _, rest = secret.partition("_")
    prefix, _, given = rest.partition("_")
    if mark != MARK or not prefix.isalnum() or not prefix.isascii():
        return None
    token = _BY_PREFIX.first(prefix)
    matches = hmac.compare_digest(token.secret_hash if token else _hash(""), _hash(given))
    if token is None or not matches or not is_alive(token, now):
        return None
    _note_use(token, now)
    return token


def is_alive(token: AgentToken, now: datetime) -> bool:
    """Say whether a token opens anything at this moment."""
    in_time = token.expires_at is None or now < token.expires_at
    return token.withdrawn_at is None and in_time and token.owner.is_active


def _note_use(token: AgentToken, now: datetime) -> None:
    """Stamp the use, at most once a minute, and never backwards: the condition is in the database."""
    if token.last_used_at is not None and now - token.last_used_at < SEEN_EVERY:
        return
    long_ago = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - SEEN_EVERY)
    AgentToken.objects.filter(long_ago, pk=token.pk).update(last_used_at=now)


def _agent(name: str, *, by: Actor, now: datetime) -> Agent:
    agent, is_new = Agent.objects.get_or_create(
        name=name, defaults={"registered_at": now, "registered_by": str(by.party)}
    )
    if is_new:
        entry = log.Entry(
            action="agent_registered",
            target=("agent", str(agent.pk)),
            actor=by.party,
            owner=None,
            data={"name": agent.name},
        )
        log.append([entry], now=now)
    return agent


def _check(agent: str, name: str, owner: Any, scopes: Sequence[str]) -> None:
    unknown = sorted(set(scopes) - set(SCOPES))
    if not 0 < len(agent) <= LONGEST_NAME:
        raise BadTokenRequestError("agent", f"An agent has a name of at most {LONGEST_NAME} characters.")
    if len(name) > LONGEST_NAME:
        raise BadTokenRequestError("name", f"At most {LONGEST_NAME} characters.")
    if not owner.is_active:
        raise BadTokenRequestError("owner", "This person's account is closed.")
    if not scopes or unknown:
        raise BadTokenRequestError("scopes", f"Scopes are {', '.join(SCOPES)}; not: {', '.join(unknown) or 'none'}.")


def _entry(*, action: str, token: AgentToken, by: Actor, **data: Any) -> log.Entry:
    return log.Entry(
        action=action,
        target=("token", str(token.pk)),
        actor=by.party,
        owner=party_of(token.owner),
        data={"agent": token.agent.name, "prefix": token.prefix} | data,
        subjects=[("agent", str(token.agent_id))],
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
