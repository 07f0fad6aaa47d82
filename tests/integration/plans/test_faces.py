"""Do page and API tell the same verdict, in the same words?"""

import json
import re

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from plans.core import schema
from plans.models import PlanSubmission
from plans.services.submit import submit
from sideeffects import actors
from sideeffects.services import tokens
from tests import factories
from tests.factories import NOW, person
from tests.unit.plans.samples import FIXTURES, fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(person("alice").user)
    return client


@pytest.fixture
def agent() -> Client:
    _, secret = tokens.create(
        agent="planner",
        owner=factories.user("alice"),
        scopes=["propose", "read"],
        by=actors.system("test"),
        now=NOW,
    )
    return Client(headers={"authorization": f"Bearer {secret}"})


def post(client: Client, path: str, body: bytes):
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


@pytest.fixture(autouse=True)
def _before_the_mandates_end():
    with time_machine.travel(NOW):
        yield


def test_a_plan_is_validated_without_being_kept(agent):
    answer = post(agent, "plans/validate", (FIXTURES / "article.json").read_bytes())
    assert answer.status_code == 200
    assert answer.json()["ok"] is False
    assert answer.json()["violations"][0]["path"] == ["steps", 1, "maxDurationSeconds"]
    assert not PlanSubmission.objects.exists()
    strict = post(agent, "plans/validate?profile=strict", (FIXTURES / "warn-spend-undeclared.json").read_bytes())
    assert strict.json()["ok"] is False
    assert post(agent, "plans/validate?profile=lax", b"{}").status_code == 400


def test_a_proposed_plan_is_201_accepted_or_422_refused_and_both_are_kept(agent):
    body = (FIXTURES / "sound.json").read_bytes()
    accepted = post(agent, "plans", body)
    assert (accepted.status_code, accepted.json()["agent"]) == (201, "planner")
    assert agent.get(accepted["Location"]).json()["text"] == body.decode()
    assert post(agent, "plans", body).status_code == 200
    refused = post(agent, "plans", (FIXTURES / "article.json").read_bytes())
    assert refused.status_code == 422
    assert refused["Content-Type"] == "application/problem+json"
    problem = refused.json()
    assert problem["violations"][0]["rule"] == "undo-ttl"
    assert agent.get(f"/api/v1/plans/{problem['plan']}").json()["accepted"] is False
    assert [one["accepted"] for one in agent.get("/api/v1/plans").json()["results"]] == [False, True]


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b'{"a":1,"a":2}', b"NaN", b"[" * 100_000])
def test_bytes_that_are_no_plan_are_refused_and_never_a_fault(agent, body):
    assert post(agent, "plans/validate", body).json()["ok"] is False
    assert post(agent, "plans", body).status_code == 422


def test_a_plan_too_large_is_413(agent):
    assert post(agent, "plans", b" " * 5_000_000).status_code == 413
    assert post(agent, "plans/validate", b" " * 5_000_000).json()["ok"] is False


def test_another_s_plan_is_not_there(agent):
    row, _ = submit(body=b"{}", by=person("bob"), now=NOW)
    assert agent.get(f"/api/v1/plans/{row.pk}").status_code == 404
    assert agent.get("/api/v1/plans").json()["results"] == []


def test_the_list_goes_on_with_next(agent, alice):
    for number in range(51):
        submit(body=b"{%d" % number, by=person("alice"), now=NOW)
    first = alice.get("/api/v1/plans").json()
    second = alice.get(first["next"]).json()
    assert (len(first["results"]), len(second["results"]), second["next"]) == (50, 1, None)
    assert "Older" in alice.get("/plans/").content.decode()


def test_pasting_a_plan_leads_to_its_verdict_and_a_fix_to_an_accepted_one(alice):
    text = (FIXTURES / "article.json").read_text()
    page = alice.post("/plans/new", {"text": text}, follow=True)
    html = page.content.decode()
    assert "Refused: 1 reason" in html
    assert "compliance.review" in html
    assert "<svg" in html
    assert "window can lapse" in html
    assert "A healthy execution in which the promise breaks" in html
    fix = page.context["fixes"][0][1]
    fixed = alice.post("/plans/new", {"text": fix, "profile": "default"}, follow=True)
    assert "Accepted" in fixed.content.decode()
    assert [row.accepted for row in PlanSubmission.objects.order_by("pk")] == [False, True]
    assert bytes(PlanSubmission.objects.order_by("pk")[0].body) == text.encode()


def test_a_file_is_kept_byte_for_byte(alice):
    body = b"\r\n" + (FIXTURES / "sound.json").read_bytes()
    alice.post("/plans/new", {"file": SimpleUploadedFile("plan.json", body)})
    assert bytes(PlanSubmission.objects.get().body) == body


@pytest.mark.parametrize(
    "sent", [{}, {"text": "{}", "file": SimpleUploadedFile("x", b"{}")}, {"text": "{}", "profile": "lax"}]
)
def test_a_form_that_says_nothing_or_too_much_is_shown_again(alice, sent):
    assert alice.post("/plans/new", sent).status_code == 422
    assert not PlanSubmission.objects.exists()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_every_fixture_has_a_page(alice, path):
    row, _ = submit(body=path.read_bytes(), by=person("alice"), now=NOW)
    html = alice.get(f"/plans/{row.pk}").content.decode()
    for violation in row.violations:
        assert "<strong>" in html
        assert violation["rule"] in html


def test_a_hostile_plan_shows_inert_and_a_long_one_says_what_is_left_out(alice):
    plan = fixture("sound")
    plan["steps"][1]["tool"] = "<script>alert(1)</script>\u202e"
    steps = [
        step | {"id": f"x{n}", "idempotencyKey": f"sg_library:x{n}"} for n, step in enumerate(plan["steps"][3:] * 600)
    ]
    plan["steps"] += steps
    row, _ = submit(body=json.dumps(plan).encode(), by=person("alice"), now=NOW)
    html = alice.get(f"/plans/{row.pk}").content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "104 further steps are not listed" in html
    assert len(re.findall(r"<g transform", html)) == 60


def test_a_broken_link_into_the_list_is_a_bad_request(alice):
    assert alice.get("/plans/?before=x").status_code == 400
    assert alice.get("/plans/?verdict=maybe").status_code == 400


def test_the_inlined_schema_says_the_same_without_references():
    assert "$ref" not in json.dumps(schema.inlined())
    assert schema.inlined()["properties"]["steps"]["items"]["required"] == ["id", "tool", "class"]
