"""Do a month-old entry and one of five minutes read differently at a glance, though no sweep has ever run?"""

from datetime import timedelta

import pytest
from django.urls import reverse

from sideeffects.models import Request
from tests import factories
from tests.external import asked, clock, contact, go, registered
from tests.fakes import serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def waiting(settings):
    """Have a target accept two requests, one a month ago and one five minutes ago, and say nothing since."""
    now = clock()
    with serving(lambda _seen: (202, {}, b"")) as target:
        settings.TARGET_HOSTS = frozenset({target.host})
        registered(target.url, now=now - timedelta(days=32))
        for key, ago in (("month", timedelta(days=31)), ("minutes", timedelta(minutes=5))):
            asked(contact(key), now=now - ago)
            go(now - ago, real=now)
    assert set(Request.objects.values_list("state", "stale_since")) == {("compensating", None)}


def test_a_month_and_five_minutes_differ_at_a_glance(sign_in, waiting):
    alice = sign_in(factories.user("alice"))
    alice.goto(reverse("actions"))
    old, young = (alice.locator("article", has_text=f"contact {key}") for key in ("month", "minutes"))
    assert old.locator(".flag.stale").inner_text() == "Stale: unresolved for 31 d"
    assert young.locator(".flag.stale").count() == 0
    assert "asked 31 d ago" in old.inner_text()
    assert "asked 5 min ago" in young.inner_text()
    badge = old.locator(".flag.stale").evaluate("one => [getComputedStyle(one).color, one.offsetWidth]")
    assert badge[0] != young.locator("p").first.evaluate("one => getComputedStyle(one).color")
    assert badge[1] > 0


def test_the_console_sorts_them_by_age_and_names_the_oldest(sign_in, waiting):
    admin = sign_in(factories.person("admin").user)
    admin.goto(reverse("console-unresolved"))
    said = admin.get_by_role("main").inner_text()
    assert "month" in said
    assert "older" in said.lower()
    assert "under an hour" in said.lower()
