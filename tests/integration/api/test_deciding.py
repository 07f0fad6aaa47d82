"""What do programs and sessions decide over the API: about a difference, and about a call in flight?"""

import pytest

from sideeffects import actors
from sideeffects.models import Fence
from sideeffects.services import fence
from tests.factories import later
from tests.integration.api.conftest import thing

pytestmark = pytest.mark.django_db

ONE, TWO = [thing("c_1")], [thing("c_1"), thing("c_2")]


def put(api, address, method="put", **body):
    return getattr(api.client, method)(address, body, content_type="application/json", headers=api.headers)


def test_a_difference_is_resolved_once_and_shown_for_ever(agent, person):
    planner, alice = agent(), person("alice")
    group = planner.call(effects=ONE).json()
    told = planner.call(effects=TWO).json()
    assert told["type"].endswith("#declaration-conflict")
    address = f"/api/v1/conflicts/{told['conflict']}/resolve"
    assert planner.post(address, {"action": "adopt"}).status_code == 403
    assert person("bob").post(address, {"action": "adopt"}).status_code == 404
    assert alice.post(address, {"action": "dismiss"}).json()["type"].endswith("#reason-required")
    assert alice.post(address, {"action": "forget"}).status_code == 400
    done = alice.post(address, {"action": "split", "reason": "it ran twice"})
    assert done.status_code == 200, done.content
    said = done.json()
    assert (said["resolution"], said["resolved_by"], said["open"], said["already"]) == (
        "split",
        "user:alice",
        False,
        False,
    )
    assert alice.post(address, {"action": "split"}).json()["already"]
    other = alice.post(address, {"action": "adopt"})
    assert (other.status_code, other.json()["resolution"], other.json()["resolved_by"]) == (409, "split", "user:alice")
    page = alice.get(group["url"]).json()
    assert (page["conflict_open"], page["conflicts"][0]["stands_in"]) == (False, said["stands_in"])
    assert page["notes"] == [f"Declared 2, held 1; the repeat stands in group {said['stands_in']}, split by alice"]
    apart = alice.get(f"/api/v1/groups/{said['stands_in']}").json()
    assert (apart["declared"], apart["notes"]) == (2, [f"A repeat of group {group['id']}, split from it by alice"])
    replay = planner.call(effects=TWO)
    assert (replay.status_code, replay.json()["id"]) == (200, said["stands_in"])


def test_a_call_in_flight_offers_a_fence_which_a_person_lifts(agent, person):
    planner, alice = agent(), person("alice")
    group = planner.call(effects=[None], status="in_flight").json()
    refused = alice.post(f"{group['url']}/revoke").json()
    assert refused["type"].endswith("#in-flight")
    assert refused["fence"] == f"{group['url']}/fence"
    answer = put(planner, refused["fence"], reason="wrong customer")
    assert (answer.status_code, answer.json()["state"], answer.json()["authority"]) == (200, "waiting", "agent")
    assert put(planner, refused["fence"]).json()["id"] == answer.json()["id"], "one waits, and stays"
    assert put(alice, refused["fence"]).json()["set_by"] == "user:alice", "a person's takes over"
    page = alice.get(group["url"]).json()
    assert (page["can_fence"], page["fences"][0]["state"], page["notes"]) == (
        False,
        "waiting",
        ["Fenced by alice: it is revoked when it arrives"],
    )
    assert put(planner, refused["fence"], "delete").json()["type"].endswith("#for-persons-only")
    assert put(person("admin"), refused["fence"], "delete").json()["type"].endswith("#reason-required")
    assert put(alice, refused["fence"], "delete").json()["state"] == "lifted"
    assert put(alice, refused["fence"]).json()["set_by"] == "user:alice"
    planner.post(f"/api/v1/tool-calls/{group['id']}/land", {"effects": ONE})
    assert fence.fire(by=actors.system("worker"), now=later(days=1)) == 1
    assert [row["state"] for row in alice.get(group["url"]).json()["fences"]] == ["refused", "lifted", "lifted"]
    assert put(alice, refused["fence"]).json()["type"].endswith("#not-in-flight")
    assert put(alice, refused["fence"], "delete").json()["result"] == "refused"
    assert Fence.objects.count() == 3
