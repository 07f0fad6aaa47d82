"""Can the API be read in a browser under the strict content policy?"""

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_docs_list_every_call_and_nothing_runs_inline(page: Page):
    page.goto("/api/v1/docs/")
    expect(page.locator(".opblock-summary-path", has_text="/groups/{group}/revoke")).to_be_visible()
    assert page.locator(".opblock").count() > 15
    page.locator("#operations-groups-groups_list .opblock-summary-control").click()
    expect(page.locator("#operations-groups-groups_list .parameters").first).to_be_visible()
    expect(page.get_by_role("button", name="Authorize")).to_be_visible()
