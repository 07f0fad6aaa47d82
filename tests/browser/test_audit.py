"""Can an auditor find, read and verify in a real browser, wide and narrow, light and dark?"""

import re

import pytest

from audit import log
from audit.models import Record
from tests.browser.look import faults
from tests.entries import ALICE, PLANNER, granted, revoked, write
from tests.factories import user
from tests.proofs import signed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def auditor(page, sign_in, settings, tmp_path):
    settings.DATA_DIR, settings.CHECKPOINT_DIR = tmp_path / "data", tmp_path / "published"
    write(
        revoked(1, actor=PLANNER, owner=ALICE, tasks=10, title="<b>Q3</b>\u202e launch"),
        revoked(2, tasks=120, outcome="requested"),
    )
    log.seal()
    signed()
    write(granted(3))
    return sign_in(user("auditor", role="auditor"))


def test_every_page_is_accessible_and_fits_its_screen(auditor):
    uid = Record.objects.filter(action="COMPENSATE").latest("id").uid
    for address in (
        "",
        "?actor=nobody",
        "overview",
        "check",
        "verify",
        "events",
        f"records/{uid}",
        f"records/{uid}/story",
    ):
        auditor.goto(f"/audit/{address}")
        for details in auditor.locator("main details").all():
            details.locator("summary").click()
        assert faults(auditor) == [], address


def test_a_task_leads_to_what_was_done_to_it_and_the_log_verifies(auditor):
    auditor.goto("/audit/")
    auditor.get_by_label("Object type").fill("task")
    auditor.get_by_label("Object id").fill("1007")
    auditor.get_by_role("button", name="Search").click()
    auditor.get_by_role("link", name=re.compile("had project 1 revoked")).click()
    row = auditor.get_by_role("row", name=re.compile("^Actor"))
    assert "agent planner" in row.inner_text()
    assert "alice" in auditor.get_by_role("row", name=re.compile("^Owner")).inner_text()
    auditor.get_by_role("link", name="Audit").click()
    auditor.get_by_role("link", name="Verify").click()
    auditor.get_by_role("button", name="Verify now").click()
    assert "Consistent: all 2 sealed records" in auditor.get_by_role("main").inner_text()


def test_an_auditor_takes_a_receipt_and_anyone_checks_it(auditor):
    uid = Record.objects.filter(action="COMPENSATE").latest("id").uid
    auditor.goto(f"/audit/records/{uid}")
    with auditor.expect_download() as taken:
        auditor.get_by_role("link", name="Receipt").click()
    receipt = taken.value.path().read_text(encoding="utf-8")
    auditor.goto("/audit/overview")
    key = auditor.locator("dd code").last.inner_text()
    auditor.goto("/audit/check")
    auditor.get_by_label("Receipt").fill(receipt)
    auditor.get_by_label("Public key that you hold").fill(key)
    auditor.get_by_role("button", name="Check").click()
    assert "Proven" in auditor.locator("#answer").inner_text()
