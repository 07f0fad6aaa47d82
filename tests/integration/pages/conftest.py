"""What do the tests of pages share? Readers who are signed in, and what a page says without its markup."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.fakes import serving

BACKEND = "django.contrib.auth.backends.ModelBackend"
ROLES = {"admin": "admin", "auditor": "auditor"}


class Reader:
    """A person at their browser, without scripts: opens addresses, sends forms, reads what the page says."""

    def __init__(self, name: str) -> None:
        self.client = Client()
        self.client.force_login(factories.user(name, role=ROLES.get(name, "")), backend=BACKEND)

    def open(self, address: str, *, status: int = 200) -> str:
        """Open an address and return its markup."""
        answer = self.client.get(address)
        assert answer.status_code == status, answer.content.decode()[:2000]
        return answer.content.decode()

    def read(self, address: str, *, status: int = 200) -> str:
        """Open an address and return its words."""
        return words(self.open(address, status=status))

    def send(self, address: str, *, status: int = 200, **fields: str) -> str:
        """Send a form, follow where it leads, and return the words there."""
        answer: Any = self.client.post(address, fields, follow=True)
        assert answer.status_code == status, answer.content.decode()[:2000]
        return words(answer.content.decode())

    def queries(self, address: str) -> int:
        """Return how many queries an address costs."""
        with CaptureQueriesContext(connection) as asked:
            answer = self.client.get(address)
        assert answer.status_code == 200
        return len(asked)


def words(markup: str) -> str:
    """Return what is inside <main> as one line of text."""
    main = re.search(r"<main.*?</main>", markup, re.DOTALL)
    text = re.sub(r"<[^>]+>", " ", main.group() if main else markup)
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(html.unescape(text).split()))


@pytest.fixture
def reader() -> Callable[[str], Reader]:
    """Give what signs a person in."""
    return Reader


@pytest.fixture
def fake(settings):
    """Give a target that accepts everything until a test decides otherwise."""
    with serving(lambda _seen: (202, {}, b"")) as running:
        settings.TARGET_HOSTS = frozenset({running.host})
        settings.TARGET_SECONDS = 1
        yield running
