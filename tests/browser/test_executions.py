"""Does a plan that is approved too late end as it should, in a real browser against the sandbox, as the log tells?"""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import expect

from audit.models import Record
from plans.models import Approval, Execution, StepRun
from sideeffects.models import Revocation
from tests import external, factories
from tests.browser.look import faults
from tests.executions import Run, six

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def pass_over(seconds: float) -> None:
    """Have all that happened so far have happened so much earlier."""
    ago = timedelta(seconds=seconds)
    moments = {
        Execution: ("started_at",),
        StepRun: ("begun_at", "ended_at", "due_at", "undo_expires_at"),
        Approval: ("asked_at", "deadline"),
    }
    for model, names in moments.items():
        model._default_manager.update(**{name: F(name) - ago for name in names})


def lasting(saga: str) -> dict[str, Any]:
    """Return the plan of six steps with a mandate that lasts."""
    plan = six() | {"sagaId": saga}
    plan["mandate"]["expiresAt"] = "2999-01-01T00:00:00Z"
    return plan


@pytest.fixture
def run(crm):
    run = Run(lasting("sg_six"), at=since())
    for name in ("s1", "s2"):
        crm.create(f"c-{name}", tool="crm.create_contact")
        run.do(name, since(), since())
    run.begin("s3", since())
    return run


def since() -> float:
    """Return how many seconds after the tests' time it really is: the sandbox has a clock of its own."""
    return (external.clock() - factories.NOW).total_seconds()


def check_stopping(page, run):
    """Stop an execution that is past its pivot."""
    run.until_pivot(since())
    run.begin("s5", since())
    run.complete("s5", since(), [])
    page.goto(f"/plans/executions/{run.id}/")
    page.get_by_role("link", name="Stop here…").click()
    expect(page.get_by_role("main")).to_contain_text("what is done stands")
    assert faults(page) == []
    page.get_by_label("Reason").fill("enough")
    page.get_by_role("button", name="Stop here").click()
    expect(page.get_by_role("main")).to_contain_text("Stopped after the pivot: what is done stands.")


def test_approved_late_blocked_rolled_back_newest_first_and_told_by_the_log(crm, page, sign_in, run):
    sign_in(factories.user("alice"))
    page.goto("/plans/executions/")
    expect(page.get_by_text("1 step waits for your decision")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("link", name="1 step waits").click()
    assert faults(page) == []
    page.get_by_role("link", name="Decide… s3").click()
    assert faults(page) == []
    pass_over(601)  # nobody looked for ten minutes and a second
    page.get_by_role("button", name="Approve s3").click()
    expect(page.get_by_role("main")).to_contain_text("The time to decide about s3 ended at")
    page.goto(f"/plans/executions/{run.id}/")
    expect(page.get_by_role("alert")).to_contain_text("Blocked. Nobody has decided about s3 in time")
    assert faults(page) == []
    page.get_by_role("link", name="Roll back now…").click()
    assert faults(page) == []
    page.get_by_role("button", name="Roll back 2 steps").click()
    expect(page.get_by_role("main")).to_contain_text("Rolled back")
    external.turn()
    crm.settle()
    external.turn(hours=1)
    page.reload()
    expect(page.locator("#step-0")).to_contain_text("The target says it is undone")
    assert faults(page) == []
    assert [one.group.step for one in Revocation.objects.order_by("id")] == ["s2", "s1"]
    assert [crm.seen(name)["undone"] for name in ("c-s1", "c-s2")] == [1, 1]
    told = [(row.action, json.loads(row.body)["data"].get("step")) for row in Record.objects.order_by("id")]
    story = [one for one in told if one[0].startswith(("step_", "approval", "execution", "rollback"))]
    assert story == [
        ("execution_started", None),
        ("step_begun", "s1"),
        ("step_completed", "s1"),
        ("step_begun", "s2"),
        ("step_completed", "s2"),
        ("step_begun", "s3"),
        ("approval_asked", "s3"),
        ("step_refused", "s3"),
        ("rollback_asked", None),
        ("step_undone", "s2"),
        ("step_undone", "s1"),
        ("execution_ended", None),
    ]
    check_stopping(page, Run(lasting("sg_stopped"), at=since()))
