"""Does the sandbox do as it is told, each key once, and count what it really undid?"""

import time
import uuid

import pytest
from standardwebhooks import Webhook

from tests.sandbox import SECRET, until, webhook_id


def test_an_accepted_request_settles_later_and_is_told(sandbox, console, thing, send):
    key = str(uuid.uuid4())
    came = send(thing, key=key)
    assert (came.status, came.body) == (202, {"status": "pending"})
    place = came.headers["Location"]
    assert sandbox.seen(thing)["present"] is True
    assert send(thing, method="GET", path=place).body == {"status": "pending"}
    sandbox.settle()
    assert send(thing, method="GET", path=place).body == {"status": "done"}
    assert (sandbox.seen(thing)["present"], sandbox.seen(thing)["undone"]) == (False, 1)
    assert send(thing, method="GET").status == 404
    until(lambda: any(seen.method == "POST" for seen in console.seen))
    [told] = [seen for seen in console.seen if seen.method == "POST"]
    heard = Webhook(SECRET).verify(told.body, told.headers)
    assert heard == {
        "request": key,
        "object": {"collection": "contacts", "id": thing},
        "status": "done",
        "at": heard["at"],
    }


def test_one_key_acts_once_and_answers_as_the_first_time(sandbox, thing, send):
    key = str(uuid.uuid4())
    first = send(thing, key=key)
    sandbox.settle()
    for _ in range(3):
        again = send(thing, key=key)
        assert (again.status, again.headers["Location"]) == (202, first.headers["Location"])
    assert sandbox.seen(thing)["undone"] == 1
    assert {seen["key"] for seen in sandbox.seen(thing)["requests"]} == {key}
    assert len({seen["jti"] for seen in sandbox.seen(thing)["requests"]}) == 4


def test_a_key_is_for_one_request(sandbox, thing, send):
    key = str(uuid.uuid4())
    assert send(thing, key=key).status == 202
    sandbox.create("c_second")
    assert send("c_second", key=key).status == 422
    assert send(thing, method="POST", path=f"/contacts/{thing}/revert", body={}, key=key).status == 422


def test_another_key_acts_again_and_is_counted(sandbox, send):
    """What a console does that loses its key is seen."""
    sandbox.create("c_twice")
    for _ in range(2):
        assert send("c_twice", method="POST", path="/contacts/c_twice/refund", body={}).status == 202
    sandbox.settle()
    assert sandbox.seen("c_twice")["undone"] == 2


def test_without_a_key_nothing_is_done(thing, send):
    assert send(thing, key="").status == 400


def test_a_version_is_held_to(sandbox, send):
    sandbox.create("c_version", version="v7")
    assert send("c_version", headers={"If_Match": '"v6"'}).status == 412
    assert send("c_version", headers={"If_Match": '"v6", W/"v7"'}).status == 202


def test_what_was_deleted_comes_back_once(sandbox, send):
    sandbox.create("c_back", present=False)
    path = "/contacts/c_back/undelete"
    assert send("c_back").status == 404
    assert send("c_back", method="POST", path=path, body={}).status == 202
    sandbox.settle()
    assert sandbox.seen("c_back")["present"] is True
    assert send("c_back", method="POST", path=path, body={}).status == 409


def test_odd_ids_are_one_object_each(sandbox, send):
    for id_, path in {"a/b": "/contacts/a%2Fb", "ü ": "/contacts/%C3%BC%20"}.items():
        sandbox.create(id_)
        assert send(id_, path=path).status == 202


@pytest.mark.parametrize(
    ("told", "status", "undone"),
    [
        ({"do": "accept"}, 202, 1),
        ({"do": "done"}, 200, 1),
        ({"do": "succeeded"}, 200, 1),
        ({"do": "pending"}, 200, 1),
        ({"do": "failed"}, 200, 0),
        ({"do": "refuse", "reason": "it is invoiced"}, 409, 0),
        ({"do": "forbid"}, 403, 0),
        ({"do": "unauthorized"}, 401, 0),
        ({"do": "gone"}, 404, 0),
        ({"do": "busy", "retry_after": 7}, 429, 0),
        ({"do": "unavailable", "retry_after": "whenever"}, 503, 0),
        ({"do": "unavailable", "acts": True}, 503, 1),
        ({"do": "error"}, 500, 0),
        ({"do": "error", "acts": True}, 500, 1),
        ({"do": "hang", "seconds": 0.1}, 0, 1),
        ({"do": "drop"}, 0, 1),
        ({"do": "drop_before"}, 0, 0),
        ({"do": "redirect", "url": "http://elsewhere.example/x"}, 302, 0),
        ({"do": "slow", "seconds": 0.1}, 202, 1),
        ({"do": "settle_failed"}, 202, 0),
        ({"do": "disappear"}, 202, 1),
        ({"do": "location_elsewhere"}, 202, 1),
    ],
    ids=str,
)
def test_it_does_as_it_is_told_and_then_as_always(sandbox, thing, send, told, status, undone):
    sandbox.tell(thing, **told, times=1)
    key = str(uuid.uuid4())
    started = time.monotonic()
    came = send(thing, key=key)
    assert came.status == status
    assert time.monotonic() - started >= told.get("seconds", 0)
    if "retry_after" in told:
        assert came.headers["Retry-After"] == str(told["retry_after"])
    sandbox.settle()
    assert sandbox.seen(thing)["undone"] == undone
    again = send(thing, key=key)
    sandbox.settle()
    kept = {"failed": (200, 0), "refuse": (409, 0), "settle_failed": (202, 0)}.get(told["do"], (None, 1))
    assert again.status in {kept[0] or 202, 200}
    assert sandbox.seen(thing)["undone"] == kept[1]


def test_bodies_and_addresses_say_what_they_were_told_to(sandbox, send):
    for id_, do, words in (
        ("b_1", "failed", {"status": "failed", "reason": "no"}),
        ("b_2", "refuse", {"error": "refused", "reason": "no"}),
        ("b_3", "pending", {"status": "pending"}),
    ):
        sandbox.create(id_)
        sandbox.tell(id_, do, reason="no")
        assert send(id_).body == words
    sandbox.create("b_4")
    sandbox.tell("b_4", "location_elsewhere", url="http://192.0.2.1/jobs/1")
    assert send("b_4").headers["Location"] == "http://192.0.2.1/jobs/1"
    sandbox.create("b_5")
    sandbox.tell("b_5", "settle_failed", reason="it was paid out")
    place = send("b_5").headers["Location"]
    sandbox.settle()
    assert send("b_5", method="GET", path=place).body == {"status": "failed", "reason": "it was paid out"}


def test_reads_can_be_told_too(sandbox, thing, send):
    sandbox.tell(thing, "unavailable", on="read", times=2)
    place = send(thing).headers["Location"]
    assert [send(thing, method="GET", path=path).status for path in (place, f"/contacts/{thing}", place)] == [
        503,
        503,
        200,
    ]


def test_a_job_is_for_its_owner_only(sandbox, thing, send):
    place = send(thing).headers["Location"]
    assert send(thing, method="GET", path=place, owner="bob").status == 403
    assert send("c_other", method="GET", path=place).status == 403
    assert [send(thing, method="GET", path=path).status for path in ("/jobs/9999", "/jobs/x", "/jobs/" + "9" * 99)] == [
        404
    ] * 3


def test_a_callback_can_be_sent_again_and_out_of_order(sandbox, console, thing, send):
    key = str(uuid.uuid4())
    send(thing, key=key)
    assert sandbox.call_back(key, "failed", at="2026-01-01T00:00:00+00:00", repeat=2) == [200, 200]
    first, second = (seen for seen in console.seen if seen.method == "POST")
    assert webhook_id(first) == webhook_id(second)
    heard = Webhook(SECRET).verify(second.body, second.headers)
    assert (heard["at"], heard["status"]) == ("2026-01-01T00:00:00+00:00", "failed")
    assert sandbox.ask("POST", "/_control/callbacks", {"request": "none", "status": "done"}).status == 404
