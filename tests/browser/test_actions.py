"""Can alice take back and restore in a real browser, wide and narrow, light and dark, with odd words about?"""

import re

import pytest
from django.urls import reverse

from sideeffects.services.record import Status
from sideeffects.workspace.models import Project, Task
from tests import factories
from tests.browser.look import faults
from tests.factories import contact, planner

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NASTY = "<img src=x onerror=alert(1)>\u202e" + "long" * 40


@pytest.fixture
def group(db):
    """One of everything that a list can hold, and eleven rows to take back."""
    by = planner()
    factories.crm(by)
    for keys in ("c_1", "c_2"):
        factories.report(by, [contact(keys)], conversation=NASTY[:190])
    factories.report(by, [contact("m", type_="message")], tool="email.send", arguments={"to": "x"})
    factories.report(by, [], arguments={"n": 2}, status=Status.IN_FLIGHT)
    factories.project(by, name=NASTY, tasks=1)
    return factories.project(by)


def alive():
    return Project.objects.filter(deleted_at=None).count() + Task.objects.filter(deleted_at=None).count()


@pytest.mark.parametrize("width", [1280, 360])
def test_three_clicks_take_eleven_rows_back_and_two_more_restore_them(page, sign_in, group, width):
    alice = sign_in(factories.user("alice"))
    alice.set_viewport_size({"width": width, "height": 900})
    alice.goto("/help")
    ids = sorted(Task.objects.values_list("pk", flat=True))
    alice.get_by_role("link", name="My AI actions").click()
    alice.locator("article", has_text="11 objects declared").get_by_role("link", name=re.compile("^Revoke…")).click()
    alice.get_by_role("button", name="Revoke 11 objects").click()
    said = alice.get_by_role("main").inner_text()
    assert "Outcome: revoked, all that was declared" in said
    assert said.count("Revoked. In trash until") == 12
    assert alive() == 2
    alice.get_by_role("link", name=re.compile("^Restore from trash…")).click()
    alice.get_by_role("button", name="Restore 11 objects").click()
    assert "Standing again: restored" in alice.get_by_role("main").inner_text()
    assert sorted(Task.objects.filter(deleted_at=None).values_list("pk", flat=True)) == ids


def test_every_page_is_accessible_and_fits_its_screen(page, sign_in, group):
    here = [reverse(name, args=[group.pk]) for name in ("group", "group-revoke")]
    away = [reverse("group", args=[row.pk]) for row in group.owner.groups_owned.exclude(pk=group.pk)]
    seen = {
        "alice": ["/", "/?q=nothing", "/?standing=x&before=y", "/trash/", "/workspace/", *here, *away],
        "bob": ["/", "/trash/", "/workspace/"],
        "admin": ["/console/", "/console/conflicts/", "/console/tools/", "/console/tools/new", *here],
    }
    for name, addresses in seen.items():
        sign_in(factories.user(name, role="admin" if name == "admin" else ""))
        for address in addresses:
            page.goto(address)
            page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true })")
            assert faults(page) == [], address
