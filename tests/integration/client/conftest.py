"""Who is the agent of these tests? The client, at a real server, with a token of its own."""

import pytest

from sideeffects import actors
from sideeffects.client import Console
from sideeffects.services import tokens
from tests import factories
from tests.factories import NOW, SCOPES


@pytest.fixture
def secret(transactional_db):
    """Give a token of planner for alice, and let the console know the tool."""
    factories.crm(actors.system("test"))
    by = actors.system("test")
    return tokens.create(agent="planner", owner=factories.user("alice"), scopes=SCOPES, by=by, now=NOW)[1]


@pytest.fixture
def console(secret, live_server):
    """Give the console as the agent has it; it waits for nothing between tries."""
    found = Console(live_server.url, secret)
    found.sleep = lambda _seconds: None
    return found
