"""Can alice decide about a repeat that differs, and have a call in flight revoked when it arrives, in a browser?"""

import json

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from sideeffects import actors
from sideeffects.models import Group
from sideeffects.services import fence, tokens
from tests import external, factories
from tests.browser.look import faults
from tests.factories import NOW, contact, planner, report

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_conflict_is_resolved_and_the_new_action_stands_by_itself(sign_in):
    factories.crm(by := planner())
    report(by, [contact("c_1")])
    group = report(by, [contact("c_1"), contact("c_2")]).group
    assert group is not None
    alice = sign_in(factories.user("alice"))
    alice.goto(reverse("group", args=[group.pk]))
    assert faults(alice) == []
    split = alice.get_by_role("form", name="Split")
    split.get_by_label("Reason").fill("the model called it twice")
    split.get_by_role("button").click()
    decisions = alice.locator("#decisions")
    expect(decisions).to_contain_text("A repeat declared 2, held were 1")
    expect(decisions).to_contain_text("the model called it twice")
    assert faults(alice) == []
    decisions.get_by_role("link").click()
    expect(alice.get_by_role("main")).to_contain_text("2 declared")
    assert Group.objects.count() == 2


def test_a_fence_is_set_and_fulfilled(sign_in, settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    factories.crm(planner())
    _, secret = tokens.create(
        agent="planner", owner=factories.user("alice"), scopes=["record"], by=actors.system("test"), now=NOW
    )
    agent = Client(headers={"authorization": f"Bearer {secret}"})
    call = {"tool": "crm.create_contact", "arguments": {}, "conversation": "c1", "status": "in_flight"}
    group = agent.post("/api/v1/tool-calls", json.dumps(call), content_type="application/json").json()["id"]
    alice = sign_in(factories.user("alice"))
    alice.goto(reverse("group", args=[group]))
    alice.get_by_role("link", name="Revoke it when it arrives…").click()
    assert faults(alice) == []
    alice.get_by_role("button", name="Revoke it when it arrives").click()
    expect(alice.get_by_role("main")).to_contain_text("Fenced by alice: it is revoked when it arrives")
    assert faults(alice) == []
    landed = {"effects": [{"type": "contact", "id": "c_1", "operation": "create"}]}
    answer = agent.post(f"/api/v1/tool-calls/{group}/land", json.dumps(landed), content_type="application/json")
    assert answer.status_code == 200
    assert fence.fire(by=actors.system("worker"), now=external.clock()) == 1, "as the worker does when it is woken"
    alice.reload()
    expect(alice.get_by_role("main")).to_contain_text("Revoke asked by the fence that alice had set")
    expect(alice.get_by_role("main")).to_contain_text("Not sent yet")
    assert Group.objects.get(pk=group).revocations.get().trigger == "fence"
