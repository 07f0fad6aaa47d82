"""Does a person get from a pasted plan over its picture and a fix to an accepted one?"""

import pytest
from playwright.sync_api import expect

from plans.services.submit import submit
from tests import factories
from tests.browser.look import faults
from tests.factories import NOW, person
from tests.unit.plans.samples import FIXTURES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ARTICLE = (FIXTURES / "article.json").read_text().replace("2026-12-31", "2999-12-31")


def test_paste_refused_picture_fix_accepted(sign_in):
    page = sign_in(factories.user("alice"))
    page.goto("/plans/")
    page.get_by_role("link", name="Check a plan…").click()
    assert faults(page) == []
    page.get_by_label("Plan", exact=True).fill(ARTICLE)
    page.get_by_role("button", name="Check and keep").click()
    expect(page.get_by_text("Refused: 1 reason")).to_be_visible()
    expect(page.get_by_role("img", name="Timeline of the plan")).to_be_visible()
    expect(page.get_by_text("A healthy execution in which the promise breaks")).to_be_visible()
    expect(page.get_by_role("row", name="s2 compliance.review")).to_contain_text("refused: undo-ttl")
    assert faults(page) == []
    page.get_by_role("button", name="Check and keep this plan").first.click()
    expect(page.get_by_text("Accepted", exact=True)).to_be_visible()
    expect(page.get_by_role("row", name="s1 budget.reserve")).to_contain_text("fits exactly")
    assert faults(page) == []
    page.goto("/plans/")
    expect(page.get_by_role("row")).to_have_count(3)
    assert faults(page) == []


def test_the_pages_hold_at_360_pixels(sign_in):
    row, _ = submit(body=ARTICLE.encode(), by=person("alice"), now=NOW)
    page = sign_in(factories.user("alice"))
    page.set_viewport_size({"width": 360, "height": 740})
    for address in ("/plans/", "/plans/new", f"/plans/{row.pk}"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


def test_no_picture_leaves_its_frame(sign_in):
    page = sign_in(factories.user("alice"))
    for path in sorted(FIXTURES.glob("*.json")):
        row, _ = submit(body=path.read_bytes(), by=person("alice"), now=NOW)
        page.goto(f"/plans/{row.pk}")
        outside = page.evaluate(
            """() => [...document.querySelectorAll("figure svg *")].filter(part => {
                const box = part.getBBox ? part.getBBox() : null;
                return box && part.tagName !== "g" && (box.x < -1 || box.x + box.width > 900);
            }).map(part => part.outerHTML)"""
        )
        assert outside == [], path.stem
