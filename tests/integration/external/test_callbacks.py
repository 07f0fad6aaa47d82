"""Does the newer word win, and is no word taken from anyone but the target?"""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from standardwebhooks import Webhook

from audit.models import Record
from sideeffects.models import Callback, Effect
from sideeffects.services.carry_out import call, understood
from sideeffects.services.claim import claim
from sideeffects.services.settle import settle
from tests.external import SECRET, WORKER, asked, bodies, contact, go, registered, state
from tests.factories import NOW, later

pytestmark = [pytest.mark.django_db, pytest.mark.both]


@pytest.fixture
def request_(fake):
    registered(fake.url)
    request = asked(contact())
    go()
    assert state(request) == "compensating"
    with time_machine.travel(later(minutes=10), tick=False):
        yield request


def send(request, said, *, at=None, target="crm.example", secret=SECRET, id_="msg_1", stamp=None, body=None, sign=None):
    at = at or later(minutes=10)
    content = json.dumps(
        body or {"request": str(request.pk), "status": said, "at": at.isoformat(), "reason": "as asked"}
    )
    stamp = stamp or datetime.now(UTC)
    signature = sign or Webhook(secret).sign(id_, stamp, content)
    headers = {
        "webhook-id": id_,
        "webhook-timestamp": str(int(stamp.timestamp())),
        "webhook-signature": signature,
    }
    return Client().post(f"/api/v1/callbacks/{target}", content, content_type="application/json", headers=headers)


def test_the_targets_word_settles_it(request_):
    answer = send(request_, "done")
    assert answer.status_code == 200
    assert answer.json()["applied"] is True
    assert state(request_) == "compensated"
    assert Effect.objects.get().state == "compensated"
    assert bodies("COMPENSATE")[-1]["outcome"] == "confirmed"
    [heard] = bodies("callback_heard")
    assert (heard["data"]["said"], heard["data"]["was"]) == ("done", "compensating")


def test_an_older_word_that_arrives_late_changes_nothing(request_):
    """X6."""
    send(request_, "done", at=later(minutes=9))
    late = send(request_, "failed", at=later(minutes=8), id_="msg_2")
    assert late.json()["applied"] is False
    assert state(request_) == "compensated"
    assert Callback.objects.count() == 2
    assert len(bodies("COMPENSATE")) == 3


def test_a_newer_word_reopens_and_the_change_is_visible(request_):
    for number, (said, wanted) in enumerate(
        [("done", "compensated"), ("failed", "refused"), ("pending", "compensating"), ("done", "compensated")]
    ):
        send(request_, said, at=later(minutes=1 + number), id_=f"msg_{number}")
        assert state(request_) == wanted
    assert [body["data"]["members"][0].get("was") for body in bodies("COMPENSATE")][2:] == [
        "compensating",
        "compensated",
        "refused",
        "compensating",
    ]


def test_a_late_success_after_unknown_is_accepted(fake, settings):
    """X5."""
    settings.REQUEST_TRIES = 1
    registered(fake.url)
    request = asked(contact())
    fake.decide = lambda _seen: None
    go()
    assert state(request) == "unknown"
    with time_machine.travel(later(minutes=10), tick=False):
        send(request, "done")
    assert state(request) == "compensated"
    assert request.needs_person_since is None


def test_a_word_that_overtakes_its_own_answer_is_not_undone_by_it(fake):
    """The callback arrives while the 202 is still on its way."""
    registered(fake.url)
    request = asked(contact())

    def call_back_first(_seen):
        return 202, {}, b""

    fake.decide = call_back_first
    [one] = claim(room=1, by=WORKER, now=NOW)
    came = call(one, now=NOW)
    with time_machine.travel(NOW + timedelta(seconds=1), tick=False):
        send(request, "done", at=NOW - timedelta(seconds=20))  # its clock is behind ours
    settle(called=[understood(one, came, now=NOW + timedelta(seconds=2))], by=WORKER, now=NOW + timedelta(seconds=2))
    assert state(request) == "compensated"


def test_a_replay_is_refused(request_):
    assert send(request_, "done").status_code == 200
    again = send(request_, "done")
    assert (again.status_code, again.json()["type"].rpartition("#")[2]) == (409, "callback-replayed")
    assert Callback.objects.count() == 1


OTHER = "whsec_" + "YW5vdGhlci1zZWNyZXQtYWx0b2dldGhlcg=="


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": OTHER},
        {"sign": "v1,AAAA"},
        {"sign": "nonsense"},
        {"sign": "v2,AAAA v1"},
        {"stamp": later(minutes=3)},
        {"stamp": later(minutes=17)},
        {"target": "nobody.example"},
    ],
)
def test_what_the_target_did_not_sign_just_now_is_refused_in_one_sentence(request_, wrong):
    before = Record.objects.count()
    answer = send(request_, "done", **wrong)
    assert answer.status_code == 400
    assert answer.json()["detail"] == (
        "This callback is not taken: its signature is not the target's, or its time is not ours."
    )
    assert state(request_) == "compensating"
    assert Record.objects.count() == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"request": "x", "status": "done", "at": "2026-11-30T12:00:00Z"},
        {"status": "done", "at": "2026-11-30T12:00:00Z"},
        {"request": "KEY", "status": "undone", "at": "2026-11-30T12:00:00Z"},
        {"request": "KEY", "status": "done", "at": "2026-11-30T12:00:00"},
        {"request": "KEY", "status": "done", "at": "yesterday"},
        {"request": "KEY", "status": "done", "at": "2026-11-30T12:16:00Z"},
        [1],
    ],
)
def test_what_cannot_be_meant_is_refused(request_, body):
    if isinstance(body, dict) and body.get("request") == "KEY":
        body = {**body, "request": str(request_.pk)}
    assert send(request_, "", body=body).status_code == 400
    assert state(request_) == "compensating"


def test_a_reason_of_odd_characters_is_kept_inert(request_):
    body = {
        "request": str(request_.pk),
        "status": "failed",
        "at": later(minutes=9).isoformat(),
        "reason": "\ud800\0\u202e",
    }
    assert send(request_, "", body=body).status_code == 200
    assert Callback.objects.get().reason == "⟨U+D800⟩⟨U+0000⟩⟨U+202E⟩"


def test_another_targets_request_is_not_its_to_speak_of(request_, fake):
    registered(fake.url, name="other.example", callback_secret=OTHER)
    answer = send(request_, "done", target="other.example", secret=OTHER)
    assert answer.status_code == 404
    assert state(request_) == "compensating"
