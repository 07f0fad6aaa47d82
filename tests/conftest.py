"""What do the tests share? Tables that can be emptied, cheap passwords, a real browser."""

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.backends.postgresql.creation import DatabaseCreation
from django.test import Client, TransactionTestCase
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests import chromium
from tests.tampering import without_triggers

FILLED_BY_MIGRATE = {"django_content_type", "auth_permission"}


def pytest_configure() -> None:
    """Hash passwords quickly, and look static files up when they are asked for: each client would list them all."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    settings.WHITENOISE_AUTOREFRESH = True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the operation that a generated test is about: since pytest 9.2 schemathesis' tests are all called alike."""
    label = getattr(item, "operation_label", None)
    if label and item.id.params is None:
        item._id = item.id.with_params(label)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what asks no database: among it is what brings whole programs and takes longest, a bad end to a run.

    Refuses two tests of one name: several processes would run only one of them, and say that all passed.
    """
    items.sort(key=lambda item: item.get_closest_marker("django_db") is not None)
    names = Counter(item.nodeid for item in items)
    if alike := [name for name, count in names.items() if count > 1]:
        raise pytest.UsageError(f"More than one test is called {', '.join(alike[:5])}")


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never again among all that stays: that took a twelfth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


@pytest.fixture(autouse=True, scope="session")
def _tables_are_emptied() -> Iterator[None]:
    """After a transactional test leave the database as `migrate` does, past the triggers that refuse it.

    Unlike Django's flush it keeps types and permissions, which took most of the time to make anew, and deletes rows
    only where there are any: TRUNCATE makes each table a new file. At the very end the database goes, also where a
    thread of the live server has not closed its connection yet: nobody waits for those.
    """

    def empty(_: TransactionTestCase) -> None:
        names = sorted(set(connection.introspection.django_table_names(only_existing=True)) - FILLED_BY_MIGRATE)
        rows = ", ".join(f"EXISTS (SELECT 1 FROM {connection.ops.quote_name(name)})" for name in names)
        with without_triggers("default"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT {rows}")
            for name, filled in zip(names, cursor.fetchone(), strict=True):
                if filled:  # keys to other tables are looked at in the end, when all are empty
                    cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")

    def drop(creation: Any, name: str, _verbosity: int) -> None:
        with creation._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {creation.connection.ops.quote_name(name)} WITH (FORCE)")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        patch.setattr(DatabaseCreation, "_destroy_test_db", drop)
        yield


@pytest.fixture(scope="module")
def one_transaction(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Hold a transaction around all tests of a file, for what is made once; each test's own is one inside it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def tampering(db: None) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Give what lets a test change the log as an owner of the database could: `with tampering(): …`."""
    return lambda: without_triggers(connection.alias)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Give one real Chromium for all browser tests of this process."""
    with sync_playwright() as playwright:
        running = chromium.launch(playwright.chromium)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """Give a page at the live server; a script's error or a refusal by the content policy fails the test."""
    context = browser.new_context(base_url=live_server.url, locale="en-GB")
    context.set_default_timeout(10_000)
    faults: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    context.close()
    assert not faults


@pytest.fixture
def sign_in(page: Page, live_server: LiveServer) -> Callable[[AbstractBaseUser], Page]:
    """Give what signs a person in on the page without the form."""

    def sign_in_as(person: Any) -> Page:
        client = Client()
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        value = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])
        return page

    return sign_in_as
