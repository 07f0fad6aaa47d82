"""Can alice take a whole conversation back in a real browser, watch it, see what failed, and bring it back?"""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from sideeffects.models import Batch, Effect
from sideeffects.services import batch_work
from sideeffects.workspace.models import Project
from tests import external, factories
from tests.batches import carry_on
from tests.browser.look import faults
from tests.external import clock
from tests.fakes import serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


WAIT = 60_000  # far above what a poll takes, however busy the machine


@pytest.fixture
def done_at_once(settings):
    """Give a target that undoes whatever it is asked for, and says so."""
    with serving(lambda _seen: (200, {}, b'{"status": "done"}')) as running:
        settings.TARGET_HOSTS = frozenset({running.host})
        external.registered(running.url, now=clock())
        yield running


def buckets(page):
    """Return how many actions and objects each outcome counts."""
    rows = page.locator("table.buckets tr:has(td)").all_inner_texts()
    return {row.split("\n")[0].strip().split("\t")[0]: [int(n) for n in re.findall(r"\b\d+\b", row)] for row in rows}


@pytest.mark.parametrize("number", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_preview_run_watch_one_fails_restore_and_what_stays_undone_outside(
    page, sign_in, done_at_once, monkeypatch, number
):
    by = factories.planner()
    for one in range(number - 2):
        factories.project(by, name=f"Project {one}", tasks=0)
    for key in ("c_1", "c_2"):
        external.contact(key, by=by)
    broken = Project.objects.earliest("pk")
    Project.objects.filter(pk=broken.pk).update(owner=factories.user("bob"))
    alice = sign_in(factories.user("alice"))
    alice.goto("/?conversation=c1")
    alice.get_by_role("link", name="Revoke all of these…").click()
    main = alice.get_by_role("main")
    expect(main).to_contain_text(f"{number} actions, {number} objects")
    expect(main).to_contain_text("will only be requested of crm.example")
    assert faults(alice) == []
    alice.get_by_role("button", name=f"Revoke {number - 2} here, ask about 2").click()
    bar = alice.get_by_role("progressbar")
    expect(bar).to_have_attribute("value", "0")
    monkeypatch.setattr(batch_work, "GROUPS", number // 3)
    carry_on(chunks=1)
    expect(bar).to_have_attribute("value", str(number // 3), timeout=WAIT)  # by itself
    assert faults(alice) == []
    carry_on()
    expect(main).to_contain_text(f"Finished: all {number} attempted", timeout=WAIT)  # the whole page, by itself
    expect(bar).to_have_attribute("value", str(number))
    external.turn()
    alice.get_by_role("link", name="Look again").click()
    assert buckets(alice) == {
        "Revoked": [number - 3, number - 3],
        "The target says it is undone": [2, 2],
        "Failed": [1, 1],
        "All": [number, number],
    }
    assert faults(alice) == []
    alice.get_by_label("Outcome").select_option("failed")
    alice.get_by_role("button", name="Filter").click()
    expect(main).to_contain_text("belongs to someone else by now")
    alice.get_by_role("link", name="Restore what it revoked…").click()
    expect(main).to_contain_text(f"{number - 3} actions will be restored")
    expect(main).to_contain_text("2 objects stay undone outside")
    alice.get_by_role("button", name=f"Restore {number - 3} actions").click()
    carry_on()
    expect(main).to_contain_text(f"{number - 3} actions were restored", timeout=WAIT)
    expect(main).to_contain_text("2 objects stay undone outside")
    assert faults(alice) == []
    assert Project.objects.filter(deleted_at=None).count() == number - 2
    assert Effect.objects.filter(state="compensated").count() == 2


def test_lists_and_questions_are_accessible_and_fit_their_screen(page, sign_in):
    long = "a conversation of " + "many words " * 8 + "x" * 60
    by = factories.planner()
    factories.project(by, name="One", tasks=1, conversation=long)
    alice = sign_in(factories.user("alice"))
    alice.goto("/batches/new?agent=planner")
    alice.get_by_role("button", name="Revoke 2 objects").click()
    address = reverse("batch", args=[Batch.objects.get().pk])
    here = ["/batches/", "/batches/new", "/batches/new?conversation=none", "/batches/new?groups=x"]
    asking = [f"{address}{verb}" for verb in ("stop", "restore")]  # one page asks all four
    for name, addresses in {"alice": [*here, address, *asking], "admin": ["/console/batches/", address]}.items():
        sign_in(factories.user(name, role="admin" if name == "admin" else ""))
        for one in addresses:
            page.goto(one)
            page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true })")
            assert faults(page) == [], one
