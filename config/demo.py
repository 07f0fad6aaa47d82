"""Which story does the demonstration tell? People, an agent's token, and what the agent did for alice."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import transaction

from config import demo_batch, demo_execution, demo_targets
from config.forms import DEMO_MAIL, demo_people, mail_field
from plans import examples, queries
from plans.models import PlanSubmission
from plans.services.submit import submit
from sideeffects import actors
from sideeffects.actors import ADMIN, AUDITOR, SCOPES
from sideeffects.declarations import Declared
from sideeffects.models import AgentToken, Group, Role
from sideeffects.services import record, roles, tokens
from sideeffects.services.execute import execute
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.tools import REGISTRY
from sideeffects.transitions import Operation

PEOPLE = {"alice": "", "bob": "", "admin": ADMIN, "auditor": AUDITOR}
AGENT, TOKEN_NAME = "planner", "demonstration"
CONVERSATION = "demo: planning the third quarter"
TASKS = (
    "Agree on the goal",
    "Book the room",
    "Invite the team",
    "Draft the budget",
    "Collect last quarter's numbers",
    "Write the announcement",
    "Order the banner",
    "Brief support",
    "Check the legal text",
    "Plan the day after",
)


@dataclass(frozen=True)
class Access:
    """What opens the demonstration until the next start: passwords by name, and the agent's token."""

    passwords: dict[str, str]
    token: str


def seed(*, now: datetime, stage: demo_targets.Stage | None = None) -> Access:
    """Make the people and the story where they are missing, and renew every password and the token.

    What is told of other systems is told on a `stage`.
    """
    with transaction.atomic():
        people = {name: _person(name, role, now=now) for name, role in PEOPLE.items()}
        passwords = {person.get_username(): _renew_password(person) for person in people.values()}
        token, secret = _renew_token(people["alice"], now=now)
        if not Group.objects.filter(conversation=CONVERSATION).exists():
            _tell(token, now=now)
        if not PlanSubmission.objects.filter(agent=token.agent).exists():
            _propose(token, now=now)
        demo_batch.tell(token, now=now)
        if stage is not None:
            demo_targets.tell(token, stage, now=now)
            demo_execution.tell(token, stage, now=now)
    return Access(passwords, secret)


def close() -> None:
    """Close the accounts of made-up people: outside the demonstration no password, session or token opens them."""
    demo_people().update(is_active=False)


def _person(name: str, role: str, *, now: datetime) -> Any:
    model = get_user_model()
    named: dict[str, Any] = {model.USERNAME_FIELD: name} | {
        mail_field(): f"{name}{DEMO_MAIL}"
    }  # one field where people log in by mail
    person, _ = model._default_manager.get_or_create(**named)
    if role and not Role.objects.filter(user=person, role=role).exists():
        roles.grant(user=person, role=role, by=actors.system("demo"), now=now)
    return person


def _renew_password(person: Any) -> str:
    """Open the account with a random password.

    It needs no slow hash (72 bits cannot be guessed), which would cost a second a start.
    """
    password = secrets.token_urlsafe(9)
    person.password = PBKDF2PasswordHasher().encode(password, secrets.token_hex(16), iterations=1000)
    person.is_active = True
    person.save(update_fields=["password", "is_active"])
    return password


def _renew_token(owner: Any, *, now: datetime) -> tuple[AgentToken, str]:
    by = actors.system("demo")
    old = AgentToken.objects.filter(name=TOKEN_NAME, withdrawn_at=None).values_list("pk", flat=True)
    tokens.withdraw(tokens=list(old), by=by, now=now)
    return tokens.create(agent=AGENT, owner=owner, scopes=SCOPES, name=TOKEN_NAME, by=by, now=now)


def _tell(token: AgentToken, *, now: datetime) -> None:
    """Let the agent plan a quarter: eleven rows, an e-mail that cannot come back, a note, another in the trash."""
    by = actors.agent(token)
    _do(by, "project.create", {"name": "Q3 launch", "tasks": list(TASKS)}, now=now)
    _do(by, "note.create", {"title": "Who was asked", "body": "Everybody in the launch team, on Monday."}, now=now)
    mistaken = _do(by, "note.create", {"title": "Q2 launch", "body": "Made by mistake: it is the third."}, now=now)
    sent = record.ToolCall(
        tool="email.send",
        arguments={"to": "team@example.com", "subject": "Q3 launch: the plan"},
        conversation=CONVERSATION,
    )
    message = Declared("message", "msg-20418", Operation.CREATE, "Q3 launch: the plan")
    record.record(call=sent, status=record.Status.LANDED, effects=[message], owner=by.user, by=by, now=now)
    revoke(
        groups=[mistaken.pk],
        by=actors.person(by.user),
        now=now,
        reason="It is the third quarter",
        trigger=Trigger.CLICK,
    )


def _propose(token: AgentToken, *, now: datetime) -> None:
    """Let the agent propose the article's plan, which is refused, and then what the smallest fix makes of it."""
    by = actors.agent(token)
    refused, _ = submit(body=examples.article(now), by=by, now=now)
    submit(body=queries.verdict_of(refused).fixes[0].plan_bytes, by=by, now=now)


def _do(by: actors.Actor, tool: str, arguments: dict[str, Any], *, now: datetime) -> Group:
    call = record.ToolCall(tool=tool, arguments=arguments, conversation=CONVERSATION)
    done = execute(tool=REGISTRY[tool], call=call, owner=by.user, by=by, now=now)
    assert done.group is not None
    return done.group
