"""Does a real browser reach the house?"""

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_a_stranger_is_asked_to_log_in(page: Page):
    page.goto("/help")
    assert page.title()
