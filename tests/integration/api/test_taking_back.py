"""Does the API take back and restore what it says, for whom it says, and tell each member's own outcome?"""

import json

import pytest

from audit.models import Record
from sideeffects.models import Request, Revocation
from sideeffects.workspace.models import Project, Task
from tests import external, factories
from tests.factories import NOW
from tests.integration.api.conftest import thing
from tests.integration.api.test_recording import problem

pytestmark = [pytest.mark.django_db, pytest.mark.both]
NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


def alive():
    return (Project.objects.filter(deleted_at=None).count(), Task.objects.filter(deleted_at=None).count())


def test_alice_takes_eleven_rows_back_and_brings_them_back_under_their_ids(agent, person):
    made = agent().project(tasks=10).json()
    ids, alice = list(Task.objects.values_list("pk", flat=True)), person("alice")
    answer = alice.post(f"{made['url']}/revoke")
    body = answer.json()
    assert answer.status_code == 200
    assert (body["outcome"], body["standing"], body["complete"], body["already"]) == ("revoked", "revoked", True, False)
    assert body["counts"] == {"revoked": 11}
    assert {(member["state"], member["outcome"]) for member in body["members"]} == {("revoked", "revoked")}
    assert [member["effect"] for member in body["members"]] == [member["effect"] for member in made["members"]]
    record = Record.objects.get(action="COMPENSATE")
    assert body["record"] == {"uid": str(record.uid), "leaf_hash": record.leaf_hash}
    assert alive() == (0, 0)
    back = alice.post(f"{made['url']}/restore").json()
    assert (back["outcome"], back["counts"], back["complete"]) == ("restored", {"restored": 11}, False)
    assert list(Task.objects.filter(deleted_at=None).values_list("pk", flat=True)) == ids
    shown = alice.get(made["url"]).json()
    assert [item["by"] for item in shown["revocations"]] == [{"type": "user", "name": "alice"}]
    assert shown["revocations"][0]["restored_by"] == "user:alice"
    assert [item["action"] for item in shown["records"]] == ["restored", "COMPENSATE", "group_landed", "group_opened"]
    assert shown["records"][1]["url"] == f"/api/v1/audit/records/{record.uid}"


def test_a_second_revoke_answers_what_is_and_does_nothing(agent, person):
    made, alice = agent().project().json(), person("alice")
    first = alice.post(f"{made['url']}/revoke").json()
    second = alice.post(f"{made['url']}/revoke").json()
    assert second == {**first, "already": True}
    assert Revocation.objects.count() == 1


def test_any_member_revokes_its_whole_group(agent, person):
    made = agent().project().json()
    body = person("alice").post(f"{made['members'][5]['url']}/revoke").json()
    assert (body["group"], body["counts"]) == (made["id"], {"revoked": 11})


def test_what_cannot_come_back_says_why(agent, person):
    sender = agent()
    mail = sender.call("email.send", [thing("m1", type="message")]).json()
    body = problem(person("alice").post(f"{mail['url']}/revoke"), 409, "not-revocable")
    assert body["reasons"] == ["a sent e-mail does not come back"]
    assert mail["words"] == "Not revocable: a sent e-mail does not come back"
    factories.crm(factories.planner())
    held = sender.call(effects=[thing("c_1")]).json()
    assert (held["members"][0]["class"], held["members"][0]["target"]) == ("governed_external", "crm.example")
    body = problem(person("alice").post(f"{held['url']}/revoke"), 409, "targets-out-of-reach")
    assert body["targets"] == ["crm.example"]
    problem(person("alice").post(f"{held['url']}/restore"), 409, "nothing-in-trash")


def test_what_is_anothers_does_not_exist(agent, person):
    made = agent().project(tasks=1).json()
    member = made["members"][0]["url"]
    for stranger in (person("bob"), person("charlie"), agent("bob"), agent("alice", name="scribe")):
        for url in (made["url"], member):
            problem(stranger.get(url), 404, "not-found")
            problem(stranger.post(f"{url}/revoke", {"reason": "mine now"}), 404, "not-found")
        for url in ("/api/v1/groups", "/api/v1/effects", made["effects"], "/api/v1/trash"):
            assert stranger.get(url).json()["results"] == []
    problem(person("bob").post(f"{made['url']}/restore"), 404, "not-found")
    assert alive() == (1, 1)


@pytest.mark.parametrize("key", [NOWHERE, "7", "x", "../groups", NOWHERE[:-1], "0" * 32])
def test_what_is_nowhere_is_not_found(person, key):
    for url in (f"/api/v1/groups/{key}", f"/api/v1/effects/{key}", f"/api/v1/groups/{key}/revoke"):
        response = person("admin").get(url) if "revoke" not in url else person("admin").post(url, {"reason": "x"})
        problem(response, 404, "not-found")


def test_an_admin_says_why_and_an_auditor_only_reads(agent, person):
    made = agent().project(tasks=1).json()
    body = problem(person("admin").post(f"{made['url']}/revoke", {"reason": "  "}), 422, "reason-required")
    assert body["member"] == "reason"
    problem(person("auditor").post(f"{made['url']}/revoke", {"reason": "x"}), 403, "read-only")
    assert person("auditor").get(made["url"]).json()["can_revoke"] is False
    shown = person("admin").get(made["url"]).json()
    assert (shown["can_revoke"], shown["needs_reason"]) == (True, True)
    assert alive() == (1, 1)
    assert person("admin").post(f"{made['url']}/revoke", {"reason": "asked by phone"}).json()["complete"]
    [asked] = person("alice").get(made["url"]).json()["revocations"]
    assert (asked["by"]["name"], asked["authority"], asked["reason"]) == ("admin", "admin", "asked by phone")
    problem(person("auditor").post(f"{made['url']}/restore", {"reason": "x"}), 403, "read-only")


def test_an_agent_takes_its_own_back_as_itself_and_restores_nothing(agent, person):
    sender = agent()
    made = sender.project(tasks=1).json()
    problem(agent(scopes=["read", "record"]).post(f"{made['url']}/revoke"), 403, "forbidden")
    assert agent(scopes=["read", "record"]).get(made["url"]).json()["can_revoke"] is False
    assert sender.get(made["url"]).json()["can_revoke"] is True
    assert sender.post(f"{made['url']}/revoke").json()["complete"]
    body = problem(sender.post(f"{made['url']}/restore"), 403, "for-persons-only")
    assert body["detail"] == "To restore is a person's decision; an agent cannot do it."
    [asked] = person("alice").get(made["url"]).json()["revocations"]
    assert asked["by"] == {"type": "agent", "name": "planner"}
    [record] = Record.objects.filter(action="COMPENSATE")
    assert json.loads(record.body)["data"]["trigger"] == "api"


def test_an_agent_stops_at_its_cap(agent, settings):
    settings.AGENT_REVOKES_PER_HOUR = 1
    sender = agent()
    first, second = (sender.project(name, tasks=0).json() for name in "ab")
    assert sender.post(f"{first['url']}/revoke").status_code == 200
    assert problem(sender.post(f"{second['url']}/revoke"), 429, "revoke-cap")["cap"] == 1


def test_a_session_without_the_forms_token_changes_nothing(agent, person):
    made = agent().project(tasks=1).json()
    alice = person("alice", strict=True)
    problem(alice.post(f"{made['url']}/revoke"), 403, "forbidden")
    assert alive() == (1, 1)
    alice.client.get("/help")
    token = alice.client.get("/agents/").cookies["csrftoken"].value
    assert alice.post(f"{made['url']}/revoke", X_CSRFToken=token).status_code == 200


def test_a_bad_token_opens_nothing_even_beside_a_session(person):
    alice = person("alice")
    for said in ("Bearer tb_nothing", "Bearer", "Basic YTpi", "Bearer \xff"):
        alice.headers = {"Authorization": said}
        response = alice.get("/api/v1/groups")
        problem(response, 401, "signed-out")
        assert response["WWW-Authenticate"].startswith("Bearer")


def test_the_trash_says_what_a_restore_brings_back_and_what_not(agent, person):
    made, alice = agent().project(tasks=3).json(), person("alice")
    Task.objects.filter(title="Task 2").update(deleted_at=factories.NOW, deleted_by="user:alice")
    alice.post(f"{made['url']}/revoke", {"reason": "wrong quarter"})
    [item] = alice.get("/api/v1/trash").json()["results"]
    assert (item["number"], item["types"], item["stays"]) == (3, {"project": 1, "task": 2}, 1)
    assert item["revocation"]["reason"] == "wrong quarter"
    assert item["group"]["id"] == made["id"]
    assert item["restore"] == f"{made['url']}/restore"
    assert len(alice.get(item["effects"]).json()["results"]) == 3
    assert item["in_trash_until"]
    alice.post(item["restore"])
    assert alice.get("/api/v1/trash").json()["results"] == []
    assert alive() == (1, 2)


@pytest.mark.parametrize("body", [{"reason": 7}, {"reason": "x" * 1001}, {"why": "x"}, []])
def test_a_reason_that_is_none_is_refused(agent, person, body):
    made = agent().project(tasks=0).json()
    for url in (f"{made['url']}/revoke", f"{made['url']}/restore"):
        problem(person("alice").post(url, body), 400, "invalid")
    assert alive() == (1, 0)


def test_between_sending_and_its_answer_a_request_is_not_called_not_sent(person, settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    group = external.contact()
    request, alice = external.asked(group), person("alice")

    def said(**changes):
        Request.objects.filter(pk=request.pk).update(**changes)
        [listed] = alice.get("/api/v1/effects", group=str(group.pk)).json()["results"]
        [member] = alice.get(f"/api/v1/groups/{group.pk}").json()["members"]
        assert listed["words"] == member["words"] == alice.get(listed["url"]).json()["words"]
        [answered] = alice.post(f"/api/v1/groups/{group.pk}/revoke").json()["members"]
        assert answered["detail"] == listed["words"]
        return listed["words"], answered["outcome"]

    assert said() == ("Not sent yet", "not sent")
    assert said(lease_until=NOW) == ("Being sent: no answer yet", "unknown")
    assert said(lease_until=None, sent_at=NOW, attempted=1) == ("Asked once, no usable answer yet", "unknown")
