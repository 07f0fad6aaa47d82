"""How is the API held to its schema? Requests that schemathesis makes up, about real objects."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client, override_settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis
from schemathesis import checks
from schemathesis.config import SchemathesisConfig

from config.wsgi import application
from plans.services.submit import submit
from sideeffects import actors
from sideeffects.models import Declaration
from sideeffects.services import tokens
from tests import batches, executions, external, factories
from tests.factories import NOW, SCOPES

TARGET = "http://127.0.0.1:9"  # nothing is sent there: no worker runs
KEPT = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def described(*, every_edge: bool) -> Any:
    """Return the schema as the application serves it; `every_edge` adds requests at each bound of each member."""
    options = {"phases": {"coverage": {"enabled": every_edge}}, "generation": {"with-security-parameters": False}}
    config = SchemathesisConfig.from_dict(options)
    return schemathesis.openapi.from_wsgi("/api/v1/schema/", application, config=config)


class World:
    """One of everything that an address names, and those who ask."""

    def __init__(self) -> None:
        by = factories.planner("alice")
        self.group = factories.project(by, tasks=2)
        self.names: dict[str, Any] = {
            "group": self.group.pk,
            "effect": self.group.effects.get(position=1).pk,
            "uid": self.group.pk,
        }
        self.names["plan"] = submit(body=b"{}", by=by, now=NOW)[0].pk
        self.names |= {
            "execution": executions.Run(by=by).id,
            "step": "s1",
            "target": external.registered(TARGET).name,
            "batch": batches.started(self.group).pk,
            "row": external.asked(external.contact(by=by)).pk,
        }
        for key in ("1", "2"):
            factories.report(by, [factories.contact(key)], tool="tracker.add")
        self.names["conflict"] = Declaration.objects.get(held=False, group__tool="tracker.add").pk
        system = actors.system("test")
        _, self.secret = tokens.create(agent="planner", owner=by.user, scopes=SCOPES, by=system, now=NOW)
        self.admin = self.person("admin")

    def agent(self) -> dict[str, Any]:
        """Return how planner asks for alice."""
        return {"headers": {"Authorization": f"Bearer {self.secret}"}}

    def person(self, name: str) -> dict[str, Any]:
        """Return how a person asks, with the token of her form."""
        client = Client()
        client.force_login(factories.person(name).user)
        form = client.get("/agents/").cookies["csrftoken"].value
        cookies = {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value, "csrftoken": form}
        return {"headers": {"X-CSRFToken": form}, "cookies": cookies}


@pytest.fixture(scope="module")
def made(one_transaction: None) -> Iterator[World]:
    """Make the world once for all tests of a file."""
    with override_settings(TARGET_HOSTS=frozenset({TARGET.removeprefix("http://")})):
        yield World()


@pytest.fixture
def world(made: World, db: None) -> World:
    """Give that world to a test."""
    return made


@contextmanager
def one_connection() -> Iterator[None]:
    """Let a request over WSGI leave the test's own connection open, as Django's test client does."""
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in ends:
            signal.connect(close_old_connections)


def hold(case: Any, world: World, asking: dict[str, Any]) -> None:
    """Send one request about real objects and hold the answer to the schema."""
    for name in case.path_parameters or {}:
        case.path_parameters[name] = str(world.names[name])
    # What was wrong on purpose is no longer so where the address or the asker was put right here.
    untouched = [] if case.path_parameters else [checks.negative_data_rejection]
    with one_connection():
        case.call_and_validate(checks=KEPT + untouched, **asking)


def bounded(examples: int, *, alike: bool) -> Any:
    """Return how many requests to make up for each call; `alike`: the same ones in every run."""
    return hypothesis(
        max_examples=examples,
        deadline=None,
        derandomize=alike,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
