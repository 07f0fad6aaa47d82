"""Who sends requests in these tests? Agents by their tokens, people by their sessions."""

from typing import Any

import pytest
from django.test import Client

from sideeffects import actors
from sideeffects.services import tokens
from tests import factories
from tests.described import made, world
from tests.factories import NOW, SCOPES

__all__ = ["made", "world"]


class Api:
    """Sends JSON and reads JSON."""

    def __init__(self, client: Client, headers: dict[str, str] | None = None) -> None:
        self.client, self.headers = client, headers or {}

    def post(self, url: str, body: Any = None, **headers: str) -> Any:
        """POST a body as JSON; header names as `Idempotency_Key`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        text = {} if body is None else body
        return self.client.post(url, text, content_type="application/json", headers={**self.headers, **named})

    def get(self, url: str, **parameters: Any) -> Any:
        """GET."""
        return self.client.get(url, parameters, headers=self.headers)

    def call(self, tool: str = "crm.create_contact", effects: Any = (), **members: Any) -> Any:
        """Report a call; what is None is left out."""
        key = {"Idempotency_Key": members.pop("key")} if "key" in members else {}
        body = {"tool": tool, "arguments": {"n": 1}, "conversation": "c1", "status": "landed", **members}
        body |= {"effects": list(effects)}
        if body["effects"] == [None]:
            del body["effects"]
        return self.post("/api/v1/tool-calls", {k: v for k, v in body.items() if v is not None}, **key)

    def project(self, name: str = "Q3 launch", tasks: int = 10, **members: Any) -> Any:
        """Have a project created here."""
        titles = [f"Task {number}" for number in range(1, tasks + 1)]
        arguments = {"name": name, "tasks": titles}
        return self.call("project.create", [None], arguments=arguments, status=None, **members)


@pytest.fixture
def agent(db):
    """Give what lets an agent send requests, by default planner for alice with every scope."""

    def sends(owner="alice", *, name="planner", scopes=SCOPES):
        by = actors.system("test")
        _, secret = tokens.create(agent=name, owner=factories.user(owner), scopes=scopes, by=by, now=NOW)
        return Api(Client(), {"Authorization": f"Bearer {secret}"})

    return sends


@pytest.fixture
def person(db):
    """Give what lets a person send requests from her session; the token of the form is not asked for here."""

    def sends(name, *, strict=False):
        client = Client(enforce_csrf_checks=strict)
        client.force_login(factories.person(name).user)
        return Api(client)

    return sends


def thing(key: str, **members: Any) -> dict[str, Any]:
    """Return one declared object."""
    return {"type": "contact", "id": key, "operation": "create", **members}
