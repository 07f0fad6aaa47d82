"""Does the API take what agents did once, exactly, and say what it makes of it?"""

import json
from typing import Any

import pytest
from django.db import connection

from audit.models import Record
from sideeffects.models import Declaration, Effect, Group, Target
from sideeffects.tools import REGISTRY, Contract, RegisteredTool
from sideeffects.transitions import RevokeClass
from sideeffects.workspace.models import Project, Task
from tests import factories
from tests.factories import NOW
from tests.integration.api.conftest import thing

pytestmark = [pytest.mark.django_db, pytest.mark.both]
SECRETS = ("key", "fingerprint", "arguments", "secret_hash", "digest")


def names_in(value):
    if isinstance(value, dict):
        return set(value).union(*(names_in(item) for item in value.values()))
    return set().union(*(names_in(item) for item in value)) if isinstance(value, list) else set()


def problem(response, status, slug):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == f"/help#{slug}"
    assert body["status"] == status
    return body


def test_a_tool_that_runs_here_answers_with_its_group_and_its_address(agent):
    response = agent().project(tasks=10)
    assert response.status_code == 201
    body = response.json()
    assert response["Location"] == f"/api/v1/groups/{body['id']}" == body["url"]
    assert body["summary"] == f"Created project {body['members'][0]['id']} and 10 tasks"
    assert (body["standing"], body["complete"], body["counts"]) == ("standing", False, {"active": 11})
    assert [member["type"] for member in body["members"]] == ["project"] + ["task"] * 10
    assert {member["class"] for member in body["members"]} == {"local_compensate"}
    assert (body["owner"], body["agent"], body["source"]) == ("alice", "planner", "executed")
    assert body["can_revoke"]
    assert (Project.objects.count(), Task.objects.count()) == (1, 10)


def test_no_answer_holds_a_key_a_digest_or_the_arguments(agent):
    sender = agent()
    made = sender.project(key="my-key").json()
    for url in ("/api/v1/groups", made["url"], made["effects"], "/api/v1/tools", "/api/v1/trash"):
        body = sender.get(url).json()
        assert not names_in(body) & set(SECRETS), url
        assert "my-key" not in json.dumps(body)
        group = Group.objects.get()
        assert group.key not in json.dumps(body)
        assert group.fingerprint not in json.dumps(body)


def test_an_equal_declaration_is_a_replay_for_ever(agent):
    sender = agent()
    first = sender.call(effects=[thing("1"), thing("2"), thing("3")])
    again = sender.call(effects=[thing("1"), thing("3"), thing("2")])
    assert (first.status_code, again.status_code) == (201, 200)
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert again.json()["id"] == first.json()["id"]
    assert Group.objects.count() == 1


def test_a_run_is_replayed_and_not_repeated(agent):
    sender = agent()
    assert [sender.project(tasks=1).status_code for _ in range(3)] == [201, 200, 200]
    assert Project.objects.count() == 1


def test_one_key_for_two_calls_is_refused_and_names_the_first(agent):
    sender = agent()
    first = sender.project(key="k").json()
    body = problem(sender.project("other", key='"k"'), 422, "key-reused")
    assert (body["group"], body["tool"], body["url"]) == (first["id"], "project.create", first["url"])
    assert Project.objects.count() == 1
    assert agent("bob").project("other", key="k").status_code == 201


@pytest.mark.parametrize("bad", ["", '""', " ", "x" * 201, "schl\xfcssel", '"a', "a\tb", '"a\\b"'])
def test_a_key_that_is_none_is_refused(agent, bad):
    body = problem(agent().project(key=bad), 400, "invalid")
    assert [error["member"] for error in body["errors"]] == ["Idempotency-Key"]
    assert not Group.objects.exists()


def test_other_effects_are_kept_beside_the_first_and_a_person_has_to_decide(agent, person):
    sender = agent()
    first = sender.call(effects=[thing(str(number)) for number in range(11)]).json()
    body = problem(sender.call(effects=[thing(str(number)) for number in range(12)]), 409, "declaration-conflict")
    assert [item["id"] for item in body["difference"]["only_second"]] == ["11"]
    assert (body["group"], body["url"]) == (first["id"], first["url"])
    shown = person("alice").get(first["url"]).json()
    [conflict] = shown["conflicts"]
    assert conflict["id"] == body["conflict"] == str(Declaration.objects.get(held=False).pk)
    assert (conflict["open"], conflict["numbers"]["only_second"]) == (True, 1)
    assert shown["declared"] == 11
    assert person("alice").get("/api/v1/groups", conflict="open").json()["results"][0]["conflict_open"]


def test_a_call_is_announced_then_lands_and_lands_again_only_as_a_replay(agent):
    sender = agent()
    opened = sender.call(effects=[None], status="in_flight")
    assert opened.status_code == 201
    assert opened.json()["standing"] == "in flight"
    address = f"/api/v1/tool-calls/{opened.json()['id']}/land"
    landed = sender.post(address, {"effects": [thing("1")]})
    assert (landed.status_code, landed.json()["state"]) == (200, "landed")
    again = sender.post(address, {"effects": [thing("1")]})
    assert again["Idempotency-Replayed"] == "true"
    problem(sender.post(address, {"effects": [thing("2")]}), 409, "declaration-conflict")
    problem(sender.post(f"/api/v1/tool-calls/{opened.json()['id']}/fail"), 409, "transition")


def test_a_lost_call_stays_visible_and_may_still_land(agent):
    sender = agent()
    group = sender.call(effects=[None], status="in_flight").json()["id"]
    lost = sender.post(f"/api/v1/tool-calls/{group}/lose", {"reason": "timed out after 30 s"}).json()
    assert (lost["standing"], lost["agents_reason"]) == ("lost", "timed out after 30 s")
    problem(sender.post(f"/api/v1/groups/{group}/revoke"), 409, "in-flight")
    assert sender.get("/api/v1/groups", standing="lost").json()["results"][0]["id"] == group
    landed = sender.post(f"/api/v1/tool-calls/{group}/land", {"effects": []}).json()
    assert (landed["state"], landed["words"]) == ("landed", "Nothing was declared, so there is nothing to revoke")


def test_a_failure_reported_at_once_leaves_nothing_and_the_next_try_is_recorded(agent):
    sender = agent()
    failed = sender.call(effects=[], status="failed")
    assert failed.status_code == 200
    assert failed.json()["group"] is None
    assert "Nothing was recorded" in failed.json()["detail"]
    assert not Group.objects.exists()
    assert sender.call(effects=[thing("1")]).status_code == 201


def test_an_open_call_that_fails_frees_its_key(agent):
    sender = agent()
    group = sender.call(effects=[None], status="in_flight", key="k").json()["id"]
    failed = sender.post(f"/api/v1/tool-calls/{group}/fail", {"reason": "500"}).json()
    assert (failed["standing"], failed["words"]) == ("failed", "The agent says nothing was written")
    again = sender.call(effects=[thing("1")], key="k")
    assert again.status_code == 201
    assert again.json()["id"] != group


def test_what_was_revoked_is_not_run_again_unless_it_is_meant(agent, person):
    sender = agent()
    made = sender.project().json()
    person("alice").post(f"{made['url']}/revoke")
    body = problem(sender.project(), 409, "revoked-before")
    assert body["url"] == made["url"]
    assert sender.project(key="meant").status_code == 201


def test_the_same_call_while_it_runs_is_in_progress(agent):
    sender = agent()
    made = sender.project().json()
    Group.objects.filter(pk=made["id"]).update(state="open", landed_at=None, lease_until=factories.later(days=36500))
    problem(sender.project(), 409, "in-progress")


def test_a_blocked_tool_is_refused_before_anything_happens(agent, monkeypatch):
    kept = REGISTRY["project.create"]
    blocked = Contract(revoke_class=RevokeClass.LOCAL, blocked=True)
    monkeypatch.setitem(REGISTRY, kept.name, RegisteredTool(kept.name, blocked, kept.arguments, kept.function))
    assert problem(agent().project(), 403, "tool-blocked")["tool"] == "project.create"
    assert not Project.objects.exists()
    assert Record.objects.filter(action="call_refused").count() == 1


def test_a_tool_that_breaks_leaves_nothing_and_tells_nothing_of_its_error(agent, monkeypatch):
    kept = REGISTRY["project.create"]

    def breaks(arguments, call):
        Project.objects.create(owner=call.owner, created_at=call.now, name="half")
        raise RuntimeError("password=hunter2")

    monkeypatch.setitem(REGISTRY, kept.name, RegisteredTool(kept.name, kept.contract, kept.arguments, breaks))
    response = agent().project()
    problem(response, 422, "tool-failed")
    assert "hunter2" not in response.content.decode()
    assert not Project.objects.exists()


def test_arguments_that_do_not_fit_are_named_by_their_path(agent):
    arguments = {"name": "", "tasks": ["ok", 7, "x" * 201], "colour": "red"}
    response = agent().call("project.create", [None], arguments=arguments, status=None)
    members = {error["member"] for error in problem(response, 422, "arguments")["errors"]}
    assert members == {"arguments.name", "arguments.tasks[2]", "arguments.colour"}


BAD = [
    ({"surprise": 1}, "surprise"),
    ({"tool": 5}, "tool"),
    ({"tool": "x" * 201}, "tool"),
    ({"conversation": "x" * 201}, "conversation"),
    ({"conversation": ""}, "conversation"),
    ({"run": "x" * 201}, "run"),
    ({"step": "x" * 201}, "step"),
    ({"execution": []}, "execution"),
    ({"arguments": []}, "arguments"),
    ({"status": "done"}, "status"),
    ({"effects": {}}, "effects"),
    ({"effects": [thing("1"), 7]}, "effects[1]"),
    ({"effects": [thing("1"), thing("2"), thing("3"), thing("x" * 201)]}, "effects[3].id"),
    ({"effects": [thing("1", type="x" * 61)]}, "effects[0].type"),
    ({"effects": [thing("1", title="x" * 501)]}, "effects[0].title"),
    ({"effects": [thing("1", operation="destroy")]}, "effects[0].operation"),
    ({"effects": [thing("1", owner="bob")]}, "effects[0].owner"),
    ({"effects": [thing("1") | {"id": 4711}]}, "effects[0].id"),
    ({"effects": [thing("1", undo_expires_at="2027-01-01T00:00:00")]}, "effects[0].undo_expires_at"),
    ({"effects": [thing("1", undo_expires_at="2027-01-01")]}, "effects[0].undo_expires_at"),
    ({"effects": [thing("1", undo_expires_at="2027-02-30T00:00:00Z")]}, "effects[0].undo_expires_at"),
    ({"effects": [thing("1", undo_expires_at="0001-01-01T00:00:00+14:00")]}, "effects[0].undo_expires_at"),
    ({"effects": [thing("1", undo_expires_at=1798761600)]}, "effects[0].undo_expires_at"),
    ({"status": "in_flight", "effects": [thing("1")]}, "effects"),
    ({"status": "failed", "effects": [thing("1")]}, "effects"),
]


@pytest.mark.parametrize(("change", "member"), BAD, ids=[f"{member} {place}" for place, (_, member) in enumerate(BAD)])
def test_every_bad_member_is_named_and_nothing_is_written(agent, change, member):
    good = {"tool": "t", "arguments": {}, "conversation": "c", "status": "landed", "effects": [thing("1")]}
    body = problem(agent().post("/api/v1/tool-calls", {**good, **change}), 400, "invalid")
    assert [error["member"] for error in body["errors"]] == [member]
    assert not Group.objects.exists()


@pytest.mark.parametrize("left_out", ["tool", "arguments", "conversation", "status", "effects"])
def test_what_is_missing_is_named(agent, left_out):
    body: dict[str, Any] = {"tool": "t", "arguments": {}, "conversation": "c", "status": "landed", "effects": []}
    del body[left_out]
    answer = problem(agent().post("/api/v1/tool-calls", body), 400, "invalid")
    assert [error["member"] for error in answer["errors"]] == [left_out]


def test_a_tool_that_runs_here_takes_no_report(agent):
    response = agent().call("project.create", [thing("1", type="project")], arguments={"name": "x"})
    assert [error["member"] for error in problem(response, 400, "invalid")["errors"]] == ["effects"]
    response = agent().call("project.create", [None], arguments={"name": "x"}, status="in_flight")
    assert [error["member"] for error in problem(response, 400, "invalid")["errors"]] == ["status"]
    assert not Group.objects.exists()


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"tool": "a", "tool": "b"}', '{"tool": NaN}', '"\\ud800"'])
def test_what_is_no_body_is_refused(agent, body):
    sender = agent()
    response = sender.client.post("/api/v1/tool-calls", body, content_type="application/json", headers=sender.headers)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_the_end_of_the_undo_window_is_kept_in_utc(agent):
    body = agent().call(effects=[thing("1", undo_expires_at="2027-01-01T01:00:00.5+01:00")]).json()
    assert body["members"][0]["undo_expires_at"] == "2027-01-01T00:00:00.500000Z"
    assert Declaration.objects.get().effects[0]["undo_expires_at"] == "2027-01-01T00:00:00.500000Z"


def test_many_members_are_shown_in_part_with_the_address_of_all(agent):
    sender = agent()
    body = sender.call(effects=[thing(str(number)) for number in range(250)]).json()
    assert (body["declared"], len(body["members"])) == (250, 100)
    page = sender.get(f"{body['effects']}&limit=100").json()
    seen = page["results"]
    while page["next"]:
        page = sender.get(page["next"]).json()
        seen += page["results"]
    assert [item["id"] for item in seen] == [str(number) for number in range(250)]
    assert sender.get(body["members"][7]["url"]).json() == body["members"][7]


def test_more_than_ten_thousand_effects_are_refused(agent):
    response = agent().call(effects=[thing("1")] * 10_001)
    assert [error["member"] for error in problem(response, 400, "invalid")["errors"]] == ["effects"]


@pytest.mark.soak
def test_ten_thousand_effects_are_taken(agent):
    body = agent().call(effects=[thing(str(number)) for number in range(10_000)]).json()
    assert body["declared"] == Effect.objects.count() == 10_000


def test_a_strangers_row_named_by_an_agent_is_not_touched(agent, person):
    agent("bob").project("secret plan", tasks=1)
    theirs = Project.objects.get()
    sender = agent("alice", name="liar")
    for number, tool in enumerate(("workspace.project", "project_create", "email.send")):
        made = sender.call(tool, [thing(str(theirs.pk), type="project")], arguments={"n": number})
        assert made.json()["members"][0]["class"] == "none"
        problem(person("alice").post(f"{made.json()['url']}/revoke"), 409, "not-revocable")
    theirs.refresh_from_db()
    assert theirs.deleted_at is None


def test_another_agent_reports_nothing_on_a_call_that_is_not_its_own(agent):
    group = agent().call(effects=[None], status="in_flight").json()["id"]
    bodies: dict[str, Any] = {"land": {"effects": []}, "fail": {}, "lose": {}}
    for other in (agent("alice", name="scribe"), agent("bob")):
        for verb, body in bodies.items():
            problem(other.post(f"/api/v1/tool-calls/{group}/{verb}", body), 404, "not-found")
    assert Group.objects.get().state == "open"


def test_people_record_nothing(person):
    for name in ("alice", "admin", "auditor"):
        assert person(name).project().status_code == 403


SOON, PAST = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"
CASES: dict[str, Any] = {
    "one": [thing("1")],
    "none": [],
    "alike and apart": [
        thing("1", title="Ann <b>"),
        thing("2", operation="update", version="v1"),
        thing("3"),
        {"type": "mail", "operation": "create", "title": "no id"},
        {"type": "mail", "id": "9", "operation": "delete", "undo_expires_at": SOON},
        {"type": "mail", "id": "10", "operation": "delete", "undo_expires_at": PAST},
        {"type": "mail", "id": "11", "operation": "delete"},
    ],
    "more than shown": [thing(str(number)) for number in range(130)],
    "more than a record holds": [thing(f"{number}{'x' * 190}") for number in range(300)],
}


def test_what_is_told_of_a_new_call_without_reading_it_back_is_what_its_address_says(agent):
    sender = agent()
    for known in ("no tool", "declared", "registered"):
        if known == "declared":
            factories.crm(factories.person("admin"))
        if known == "registered":
            said = {"base_url": "https://crm.example", "audience": "https://crm.example"}
            Target.objects.update(registered_at=NOW, registered_by="user:admin", **said)
        for name, effects in {**CASES, "in flight": [None]}.items():
            status = "in_flight" if name == "in flight" else "landed"
            made = sender.call(effects=effects, arguments={"n": f"{known} {name}"}, status=status, run="r1", step="s1")
            assert made.status_code == 201, made.content
            assert made.json() == sender.get(made.json()["url"]).json(), (known, name)


def test_a_new_call_is_recorded_and_told_in_few_statements(agent, django_assert_max_num_queries):
    sender = agent()
    factories.crm(factories.person("admin"))
    sender.call(effects=[thing("0")], arguments={"n": 0})
    few = 9 if connection.vendor == "postgresql" else 11  # there a record, its subjects and its place in one statement
    with django_assert_max_num_queries(few):
        assert sender.call(effects=[thing(str(number)) for number in range(11)]).status_code == 201
