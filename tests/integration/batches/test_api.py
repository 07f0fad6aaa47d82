"""Does the API preview, ask for, show, stop, retry and restore batches, and name what cannot be meant?"""

from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from sideeffects.models import Batch, Group
from tests import factories
from tests.batches import carry_on
from tests.factories import planner
from tests.integration.api.conftest import agent, person
from tests.integration.api.test_recording import problem

__all__ = ["agent", "person"]
pytestmark = pytest.mark.django_db
URL = "/api/v1/batches"
NAMES = count()


def made(number: int, **call: Any) -> list[Group]:
    by = planner()
    return [factories.project(by, name=f"P{next(NAMES)}", tasks=1, **call) for _one in range(number)]


def test_a_dry_run_changes_nothing_and_the_asking_answers_202_where_it_is(person):
    groups, alice = made(3), person("alice")
    seen = alice.post(URL, {"conversation": "c1", "dry_run": True})
    assert (seen.status_code, seen.json()["groups"], seen.json()["effects"]) == (200, 3, 6)
    assert not Batch.objects.exists()
    asked = alice.post(URL, {"conversation": "c1", "seen": seen.json()["seen"], "reason": "wrong"})
    assert asked.status_code == 202
    body = asked.json()
    assert asked["Location"] == body["url"]
    assert (body["state"], body["totals"]["groups"]) == ("working", {"not attempted": 3})
    carry_on()
    done = alice.get(asked["Location"]).json()
    assert (done["state"], done["totals"]["groups"], done["totals"]["effects"]) == (
        "finished",
        {"revoked": 3},
        {"revoked": 6},
    )
    items = alice.get(done["items"]).json()["results"]
    assert [item["group"] for item in items] == [str(group.pk) for group in groups[::-1]]
    assert {item["outcome"] for item in items} == {"revoked"}


def test_a_key_asks_once(person):
    made(1)
    alice = person("alice")
    first = alice.post(URL, {"conversation": "c1"}, Idempotency_Key="k")
    again = alice.post(URL, {"conversation": "c1"}, Idempotency_Key="k")
    assert (first.json()["id"], again.status_code) == (again.json()["id"], 202)
    assert ("Idempotency-Replayed" in first, again["Idempotency-Replayed"]) == (False, "true")
    problem(alice.post(URL, {"conversation": "c2"}, Idempotency_Key="k"), 422, "key-reused")
    assert Batch.objects.count() == 1


def test_what_changed_since_the_look_is_refused(person):
    made(1)
    alice = person("alice")
    seen = alice.post(URL, {"conversation": "c1", "dry_run": True}).json()["seen"]
    made(1, run="r2")
    problem(alice.post(URL, {"conversation": "c1", "seen": seen}), 409, "selection-changed")


WRONG = [
    ({}, ""),  # no member is bad: one is missing, and the detail says which there are
    ({"conversation": ""}, "conversation"),
    ({"conversation": "x" * 201}, "conversation"),
    ({"run": 7}, "run"),
    ({"since": "yesterday"}, "since"),
    ({"since": "2026-01-01"}, "since"),
    ({"groups": []}, "groups"),
    ({"groups": ["x"]}, "groups[0]"),
    ({"conversation": "c1", "dependants": "include"}, "dependants"),
    ({"conversation": "c1", "dry_run": "perhaps"}, "dry_run"),
    ({"conversation": "c1", "everything": True}, "everything"),
]


def test_a_body_that_cannot_be_meant_is_refused_by_member(person):
    alice = person("alice")
    for body, member in WRONG:
        errors = problem(alice.post(URL, body), 400, "invalid")["errors"]
        assert [error["member"] for error in errors] == [member], body


def test_what_is_anothers_is_not_there(person):
    [group] = made(1)
    bob = person("bob")
    assert bob.post(URL, {"groups": [str(group.pk)]}).status_code == 404
    batch = person("alice").post(URL, {"groups": [str(group.pk)]}).json()
    for address in (batch["url"], batch["items"]):
        assert bob.get(address).status_code == 404
    for verb in ("stop", "resume", "retry", "restore"):
        assert bob.post(f"{batch['url']}/{verb}").status_code == 404
        assert person("alice").post(f"{URL}/{uuid4()}/{verb}").status_code == 404
    assert bob.get(URL).json()["results"] == []
    assert [one["id"] for one in person("admin").get(URL).json()["results"]] == [batch["id"]]


def test_an_admin_says_why_across_owners(person):
    made(1)
    admin = person("admin")
    problem(admin.post(URL, {"conversation": "c1"}), 422, "reason-required")
    assert admin.post(URL, {"conversation": "c1", "reason": "an hour gone wrong"}).status_code == 202


def test_an_agent_takes_back_its_own_and_judges_nothing(agent):
    sender = agent(scopes=("record", "revoke-own"))
    sender.project("P", tasks=0)
    batch = sender.post(URL, {"conversation": "c1"})
    assert batch.status_code == 202
    carry_on()
    assert sender.get(batch.json()["url"]).json()["totals"]["groups"] == {"revoked": 1}
    for verb in ("stop", "resume", "retry", "restore"):
        problem(sender.post(f"{batch.json()['url']}/{verb}"), 403, "for-persons-only")
    problem(agent(scopes=("read",)).post(URL, {"conversation": "c1"}), 403, "forbidden")


def test_stopped_resumed_and_restored(person):
    made(2)
    alice = person("alice")
    batch = alice.post(URL, {"conversation": "c1"}).json()
    assert alice.post(f"{batch['url']}/stop").json()["state"] == "stopped"
    carry_on()
    assert alice.get(batch["url"]).json()["totals"]["groups"] == {"not attempted": 2}
    assert alice.post(f"{batch['url']}/resume").json()["state"] == "working"
    carry_on()
    assert alice.get(batch["url"]).json()["totals"]["restorable"] == 2
    restore = alice.post(f"{batch['url']}/restore")
    assert (restore.status_code, restore["Location"]) == (202, restore.json()["url"])
    carry_on()
    done = alice.get(restore["Location"]).json()
    assert (done["kind"], done["of"], done["totals"]["groups"]) == ("restore", batch["id"], {"restored": 2})
    assert alice.get(batch["url"]).json()["restores"] == [done["url"]]
    kinds = alice.get(URL, kind="restore").json()["results"]
    assert [one["id"] for one in kinds] == [done["id"]]


def test_items_are_paged_without_gaps_and_narrowed_by_outcome(person):
    groups, alice = made(7), person("alice")
    factories.report(planner(), [factories.contact("m", type_="message")], tool="email.send", arguments={"to": "x"})
    batch = alice.post(URL, {"conversation": "c1"}).json()
    carry_on()
    page, seen = alice.get(batch["items"], limit=2).json(), []
    while True:
        seen += [item["group"] for item in page["results"]]
        if not page["next"]:
            break
        page = alice.get(page["next"]).json()
    assert len(seen) == len(set(seen)) == 8
    revoked = alice.get(batch["items"], outcome="revoked").json()["results"]
    assert {item["group"] for item in revoked} == {str(group.pk) for group in groups}
    assert len(alice.get(batch["items"], outcome="not revocable").json()["results"]) == 1
    problem(alice.get(batch["items"], outcome="fine"), 400, "invalid")
    problem(alice.get(batch["items"], cursor="x"), 400, "invalid")


def test_lists_cost_the_same_with_more_rows(person, django_assert_max_num_queries):
    made(3)
    alice = person("alice")
    url = alice.post(URL, {"conversation": "c1"}).json()["items"]
    counts = []
    for address in (URL, url):
        with django_assert_max_num_queries(50) as first:
            alice.get(address)
        counts.append((address, len(first)))
    made(9, run="more")
    for one in range(3):
        alice.post(URL, {"run": "more"}, Idempotency_Key=str(one))
    for address, before in counts:
        with django_assert_max_num_queries(before):
            alice.get(address)
