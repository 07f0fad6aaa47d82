"""Does a request go out once, come back as what it is, and never as more?"""

import json
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from audit.models import Record
from sideeffects.models import Attempt, Request
from sideeffects.services import keys
from sideeffects.services.revoke import TargetsOutOfReachError
from sideeffects.transitions import EffectState
from tests import factories
from tests.external import asked, contact, go, registered, state
from tests.factories import NOW, later
from tests.fakes import serving

pytestmark = [pytest.mark.django_db, pytest.mark.both]


@pytest.fixture
def fake(settings):
    with serving(lambda _seen: (202, {}, b"")) as running:
        settings.TARGET_HOSTS = frozenset({running.host})
        yield running


def bodies(action):
    return [json.loads(record.body) for record in Record.objects.filter(action=action).order_by("id")]


def test_a_revoke_asks_and_says_requested_and_never_revoked(fake):
    registered(fake.url)
    request = asked(contact())
    assert state(request) == "requesting"
    [told] = bodies("COMPENSATE")
    assert (told["outcome"], told["data"]["complete"]) == ("not sent", False)
    assert fake.seen == []
    go()
    assert [(one.method, one.path) for one in fake.seen] == [("DELETE", "/contacts/c_1")]
    assert fake.seen[0].headers["Idempotency-Key"] == str(request.pk)
    assert state(request) == "compensating"
    assert request.effect.state == "compensating"
    [_, settled] = bodies("COMPENSATE")
    assert (settled["outcome"], settled["data"]["complete"]) == ("requested", False)
    assert settled["data"]["asked_by"] == "user:alice"
    attempt = Attempt.objects.get()
    assert settled["data"]["attempts"][0]["jti"] == str(attempt.jti)
    assert attempt.status == 202


def test_the_token_names_who_asked_for_what_and_nothing_else(fake):
    registered(fake.url)
    request = asked(contact())
    go()
    token = fake.seen[0].headers["Authorization"].removeprefix("Bearer ")
    known: Any = {"keys": keys.published()}
    decoded = jwt.decode(token, KeySet.import_key_set(known), algorithms=["ES256"])
    assert decoded.header["typ"] == "at+jwt"
    claims = decoded.claims
    assert (claims["sub"], claims["owner"], claims["act"]["sub"]) == ("alice", "alice", "takeback")
    assert (claims["aud"], claims["scope"]) == ("https://crm.example", "compensate:crm.example.create_contact")
    assert claims["exp"] - claims["iat"] <= 120
    assert claims["authorization_details"] == [
        {"type": "compensation", "method": "DELETE", "path": "/contacts/c_1", "id": "c_1", "request": str(request.pk)}
    ]


def test_nothing_is_due_twice_and_a_second_revoke_asks_nothing(fake):
    registered(fake.url)
    group = contact()
    asked(group)
    go()
    assert go() == []
    asked(group, now=later(minutes=1))
    assert go(later(minutes=1)) == []
    assert len(fake.seen) == 1
    assert Request.objects.count() == 1
    assert len(bodies("COMPENSATE")) == 2


def test_an_unregistered_target_is_not_asked(fake):
    group = contact()
    with pytest.raises(TargetsOutOfReachError, match=r"no admin has registered crm\.example yet"):
        asked(group)
    assert not Request.objects.exists()


def test_a_mixed_group_goes_together_or_not_at_all(fake):
    registered(fake.url)
    assert EffectState.REQUESTING
    assert factories.planner()
    assert NOW
