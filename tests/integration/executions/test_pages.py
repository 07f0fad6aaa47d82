"""Do the pages say what has run, what is open, what closes next, and what each button will do?"""

from typing import Any

import pytest
import time_machine

from plans import queries
from sideeffects.models import Effect, Request
from tests import external
from tests.executions import Run, seconds, six
from tests.integration.pages.conftest import Reader

pytestmark = pytest.mark.django_db


def at(second):
    return time_machine.travel(seconds(second), tick=False)


def test_the_pages_tell_a_late_approval_and_lead_to_the_rollback():
    run = Run()
    run.do("s1", 0)
    run.do("s2", 2)
    run.begin("s3", 4)
    here = f"/plans/executions/{run.id}/"
    with at(100):
        alice, bob, admin = Reader("alice"), Reader("bob"), Reader("admin")
        said = alice.read(here)
        assert "Waits for a person" in said
        assert "closes next: s1 crm.create_contact" in said
        assert "Roll back…" in said
        assert alice.open(here).count("<svg") >= 1
        assert "1 step waits for your decision" in alice.read("/plans/executions/")
        assert "s3 human.approve" in alice.read("/plans/executions/approvals/")
        assert "s3 human.approve" in admin.read("/console/approvals/")
        assert "Nothing waits" in bob.read("/plans/executions/approvals/")
        bob.read(here, status=404)
        bob.read(f"{here}rollback", status=404)
        question = alice.read(f"{here}steps/s3/decide")
        assert "Decline: 2 completed steps are rolled back" in question
        assert run.row.digest in question
    with at(605):
        said = alice.read(here)
        assert "Blocked. Nobody has decided about s3 in time" in said
        assert "Roll back now…" in said
        assert "Too late" in alice.read(f"{here}steps/s3/decide")
        assert "Nothing waits" in alice.read("/plans/executions/approvals/")
        asked = alice.read(f"{here}rollback")
        assert asked.index("s2 crm.create_contact") < asked.index("s1 crm.create_contact")
        assert "newest first" in asked
        said = alice.send(f"{here}rollback", reason="too late")
        assert "Rolled back" in said
        assert "Rollback: not attempted" in said
        assert "Rollback asked by you" in said


def test_a_decision_is_taken_for_what_was_seen():
    plan = six()
    plan["steps"][0]["undoTtlSeconds"] = 3600
    run = Run(plan)
    run.do("s1", 0)
    run.do("s2", 2)
    first = run.begin("s3", 4).runs[2].approval
    here = f"/plans/executions/{run.id}/steps/s3/decide"
    seen: dict[str, Any] = {
        "verdict": "approve",
        "approval": str(first.pk),
        "digest": first.digest,
        "sha256": first.step_sha256,
    }
    run.begin("s3", 700)
    with at(701):
        alice = Reader("alice")
        assert "asked anew" in alice.send(here, status=409, **seen)
        again = run.course.runs[2].approval
        assert "changed" in alice.send(here, status=409, **seen | {"approval": str(again.pk), "digest": "0" * 64})
        admin = Reader("admin")
        admin.send(here, status=422, **seen | {"approval": str(again.pk)})
        said = alice.send(here, **seen | {"approval": str(again.pk)})
        assert "Your decision is recorded." in said
        assert "approved you" in said
        assert "asked 2 times" in said


def test_after_the_pivot_the_page_lists_what_stands_and_how_far_it_can_come_back():
    run = Run()
    run.until_pivot()
    run.begin("s5", 20)
    with at(21):
        alice = Reader("alice")
        assert "The pivot is running" in alice.read(f"/plans/executions/{run.id}/rollback")
    run.complete("s5", 22, [])
    with at(23):
        said = alice.read(f"/plans/executions/{run.id}/")
        assert "There is no rollback any more" in said
        assert "Roll back…" not in said
        assert "s1: Created contact c-s1. Asked of the target, which decides." in said
        assert alice.queries(f"/plans/executions/{run.id}/") < 40
        alice.send(f"/plans/executions/{run.id}/rollback", status=409)
        assert "what is done stands" in alice.read(f"/plans/executions/{run.id}/stop")
        said = alice.send(f"/plans/executions/{run.id}/stop", reason="enough")
        assert "Stopped after the pivot: what is done stands." in said


def test_an_admin_declares_whose_step_waits_for_a_person():
    form: dict[str, Any] = {
        "name": "compliance.review",
        "revoke_class": "none",
        "reason": "A person's word",
        "human": "on",
    }
    said = Reader("admin").send("/console/tools/new", **form)
    assert "compliance.review" in said
    assert queries.human_tools({"compliance.review", "human.approve", "note.create"}) == {
        "compliance.review",
        "human.approve",
    }
    assert Reader("admin").open("/console/tools/compliance.review/").count("checked") >= 2


def test_what_undoing_came_to_follows_what_became_of_it(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    run = Run()
    run.do("s1", 0)
    run.rollback(5)
    here, group = f"/plans/executions/{run.id}/", run.course.runs[0].group_id
    with at(6):
        assert "Rollback: not sent" in Reader("alice").read(here)
    for model in (Effect, Request):
        model.objects.update(state="refused", state_at=seconds(60))
    with at(61):
        alice = Reader("alice")
        said = alice.read(here)
        assert "Rollback: refused" in said
        assert "being carried out" not in said
        assert "Undo windows that are open" not in said
        assert "not sent" not in said
        step = alice.client.get(f"/api/v1/executions/{run.id}").json()["steps"][0]
        assert (step["undone"], step["undone_at"]) == ("refused", "2026-11-30T12:00:05Z")
        said = alice.read(f"/groups/{group}/")
        assert "At that moment: 1 not sent" in said
        assert "1 refused" in said
