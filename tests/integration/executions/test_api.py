"""Does the API carry out a plan: every answer by the server's clock, every refusal with its reason and its window?"""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.test import Client

from plans.models import PlanSubmission
from sideeffects import actors
from sideeffects.client import Console, Execution, ProblemError
from sideeffects.models import Group
from sideeffects.services import tokens
from tests import factories
from tests.executions import Run, seconds, six, step
from tests.factories import NOW, person

pytestmark = pytest.mark.django_db


class Agent:
    """A program with a token, and a clock that a test sets."""

    def __init__(self, *scopes: str) -> None:
        _, self.secret = tokens.create(
            agent="planner",
            owner=factories.user("alice"),
            scopes=list(scopes or ("propose", "execute", "read")),
            by=actors.system("test"),
            now=NOW,
        )
        self.client = Client(headers={"authorization": f"Bearer {self.secret}"})

    def post(self, path: str, body: Any = None, *, at: float = 0, status: int = 200) -> Any:
        with time_machine.travel(seconds(at), tick=False):
            answer = self.client.post(f"/api/v1/{path}", json.dumps(body or {}), content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()


@pytest.fixture
def agent() -> Agent:
    factories.crm(factories.planner())
    return Agent()


def started(agent: Agent, plan: dict[str, Any] | None = None) -> str:
    proposed = agent.post("plans", plan or six(), status=201)
    answer = agent.post(f"plans/{proposed['id']}/executions", status=201)
    assert agent.post(f"plans/{proposed['id']}/executions")["id"] == answer["id"]
    assert (answer["state"], answer["remaining_eur"]) == ("running", 100)
    return f"executions/{answer['id']}"


def contact(name: str) -> dict[str, Any]:
    return {"effects": [{"type": "contact", "id": name, "operation": "create"}]}


def test_a_plan_is_carried_out_step_by_step(agent):
    here = started(agent)
    begun = agent.post(f"{here}/steps/s1/begin", {"step": six()["steps"][0]})
    step = begun["steps"][0]
    assert (step["state"], step["class"], step["undo_expires_at"]) == ("begun", "compensable", "2026-11-30T12:13:00Z")
    assert step["idempotency_key"] == f"{begun['id']}:sg_six:s1"
    again = agent.post(f"{here}/steps/s1/begin", status=409)
    assert (again["type"], again["window"]) == ("/help#already-begun", "s1")
    done = agent.post(f"{here}/steps/s1/complete", contact("c-1") | {"spent_eur": 7.5}, at=30)
    assert (done["steps"][0]["spent_eur"], done["held_eur"], done["remaining_eur"]) == (7.5, 7.5, 92.5)
    assert done["next_to_close"] == {"step": "s1", "closes_at": "2026-11-30T12:13:00Z"}
    assert (done["now"], done["steps"][0]["seconds_left"]) == ("2026-11-30T12:00:30Z", 750)
    assert done["begin_by"] == "2026-11-30T12:01:00Z"
    late = agent.post(f"{here}/steps/s2/begin", at=61, status=409)
    assert (late["type"], late["window"]) == ("/help#window-would-lapse", "s1")
    assert (late["closes_at"], late["at"]) == ("2026-11-30T12:13:00Z", "2026-11-30T12:01:01Z")
    with time_machine.travel(seconds(61), tick=False):
        shown = agent.client.get(f"/api/v1/{here}").json()
    assert (shown["standing"], shown["blocked"]["refusal"]) == ("blocked", "window-would-lapse")
    assert shown["warnings"] == []
    rolled = agent.post(f"{here}/rollback", at=70)
    assert (rolled["state"], rolled["steps"][0]["undone"]) == ("rolled_back", "not attempted")


def test_a_person_decides_and_an_agent_never(agent):
    here = started(agent)
    for at, name in ((0, "s1"), (2, "s2")):
        agent.post(f"{here}/steps/{name}/begin", at=at)
        agent.post(f"{here}/steps/{name}/complete", contact(name), at=at + 1)
    asked = agent.post(f"{here}/steps/s3/begin", at=4)
    assert (asked["standing"], asked["steps"][2]["state"]) == ("waiting for a person", "waiting")
    approval = asked["steps"][2]["approval"]
    assert (approval["open"], approval["deadline"], approval["digest"]) == (
        True,
        "2026-11-30T12:10:04Z",
        asked["digest"],
    )
    agent.post(f"{here}/steps/s3/approve", at=5, status=403)
    alice = Agent()
    alice.client = Client()
    alice.client.force_login(person("alice").user)
    seen = {"approval": approval["id"], "digest": approval["digest"], "step_sha256": approval["step_sha256"]}
    alice.post(f"{here}/steps/s3/approve", seen | {"digest": "0" * 64}, at=5, status=409)
    late = alice.post(f"{here}/steps/s3/approve", seen, at=605, status=409)
    assert (late["type"], late["window"]) == ("/help#deadline-passed", "s1")
    approved = alice.post(f"{here}/steps/s3/approve", seen, at=604)
    assert approved["steps"][2]["approval"]["decided_by"] == "user:alice"
    alice.post(f"{here}/steps/s4/begin", at=605, status=403)


@pytest.mark.parametrize("bad", [-1, "12", True, 1e300, 1e-13])
def test_money_is_a_number_of_euros(agent, bad):
    here = started(agent)
    agent.post(f"{here}/steps/s1/begin")
    agent.post(f"{here}/steps/s1/complete", contact("c") | {"spent_eur": bad}, status=400)
    agent.post(f"{here}/steps/s1/complete", contact("c") | {"spent_eur": 0})


def test_what_the_body_does_not_know_is_refused(agent):
    here = started(agent)
    agent.post(f"{here}/steps/s1/begin", {"now": "2020-01-01T00:00:00Z"}, status=400)
    agent.post(f"{here}/steps/nothing/begin", status=404)
    agent.post(f"{here}/steps/s1/complete", {}, status=409)
    agent.post(f"{here}/steps/s1/begin")
    agent.post(f"{here}/steps/s1/complete", {}, status=422)
    bob = Run(six(), by=factories.planner("bob"))
    agent.post(f"executions/{bob.id}/steps/s1/begin", status=404)
    assert agent.client.get(f"/api/v1/executions/{bob.id}").status_code == 404


def test_ids_with_odd_characters_are_steps_too(agent):
    plan = six()
    plan["steps"][0] |= {"id": "a/b ü?#", "compensation": {"tool": "x"}}
    here = started(agent, plan)
    assert agent.post(f"{here}/steps/a%2Fb%20%C3%BC%3F%23/begin")["steps"][0]["state"] == "begun"


def test_no_call_passes_a_gate_by_the_key_of_a_step_that_has_not_begun(agent):
    agent = Agent("propose", "execute", "read", "record")
    a = step("a", "note.create", undo="note.delete", maxDurationSeconds=60, undoTtlSeconds=7200)
    h = step("h", "human.approve", undo="x", maxDurationSeconds=600)
    d = step("d", "fee.capture", maxDurationSeconds=60)
    plan = six() | {"sagaId": "sg_gate", "pivotIndex": 2, "steps": [h, a, d]}
    here = started(agent, plan)
    keys = [one["idempotency_key"] for one in agent.post(f"{here}/steps/h/begin")["steps"]]
    note = {"tool": "note.create", "arguments": {"title": "early"}, "conversation": "c"}
    email = {"tool": "email.send", "arguments": {}, "conversation": "c", "status": "landed", "effects": []}
    member = {"execution": here.removeprefix("executions/"), "step": "a"}
    for call, key in ((note, keys[1]), (email, keys[1]), (email, keys[0]), (note | member, ""), (email | member, "")):
        agent.client.defaults["HTTP_IDEMPOTENCY_KEY"] = key or str(uuid4())
        refused = agent.post("tool-calls", call, at=1, status=409)
        assert refused["type"] == "/help#step-not-begun"
    assert not Group.objects.exists()
    alice = Agent()
    alice.client = Client()
    alice.client.force_login(person("alice").user)
    alice.post(f"{here}/steps/h/approve", at=2)
    agent.post(f"{here}/steps/a/begin", at=3)
    agent.client.defaults["HTTP_IDEMPOTENCY_KEY"] = keys[1]
    agent.post("tool-calls", note, at=4, status=201)
    done = agent.post(f"{here}/steps/a/complete", {}, at=5)
    assert done["steps"][1]["group"] == str(Group.objects.get().pk)


def test_an_auditor_proposes_no_plan_and_starts_no_batch():
    auditor = Agent()
    auditor.client = Client()
    auditor.client.force_login(person("auditor").user)
    factories.project(factories.planner())
    for path, body in (("plans", six()), ("batches", {"conversation": "c1"})):
        assert auditor.post(path, body, status=403)["type"] == "/help#read-only"
    assert not PlanSubmission.objects.exists()


def test_the_client_carries_out_a_plan(live_server, transactional_db):
    factories.crm(factories.planner())
    secret = Agent().secret
    console = Console(live_server.url, secret)
    with time_machine.travel(NOW, tick=False):
        plan = console.send("POST", "plans", six()).body["id"]
        execution = console.execution(plan)
        with execution.step("s1") as step:
            step.declare([{"type": "contact", "id": "c-1", "operation": "create"}], spent_eur=5)
        assert re.fullmatch(rf"{execution.id}:sg_six:s1", step.key)
        assert execution.refresh()["steps"][0]["state"] == "completed"
        with pytest.raises(ProblemError), execution.step("s4"):
            raise AssertionError("never reached")
        with pytest.raises(ZeroDivisionError), execution.step("s2"):
            1 / 0  # noqa: B018  (a tool that breaks)
        assert execution.refresh()["state"] == "rolled_back"
        with pytest.raises(ProblemError) as over:
            execution.stop("enough")  # there is nothing past the pivot to go no further from
        assert (over.value.status, over.value.type) == (409, "/help#execution-state")
        past = Run(six() | {"sagaId": "past"})
        past.until_pivot()
        past.begin("s5", 20)
        past.complete("s5", 21, [])
    with time_machine.travel(seconds(30), tick=False):
        running = Execution(console, console.send("GET", f"executions/{past.id}").body)
        assert [running.stop("enough")["state"] for _ in range(2)] == ["stopped", "stopped"]
