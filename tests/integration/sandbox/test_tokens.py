"""Does the sandbox act on exactly the tokens that are for it? Whoever replaces it has to pass this."""

import base64
import hmac
import json
import time
import uuid

import jwt
import pytest

from tests.sandbox import AUDIENCE, KID, jwk


def now_and(seconds):
    return int(time.time()) + seconds


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"aud": "https://other.example"}, "audience"),
        ({"aud": None}, "no aud"),
        ({"aud": []}, "no aud"),
        ({"aud": [f"{AUDIENCE}/"]}, "audience"),
        ({"aud": AUDIENCE.upper()}, "audience"),
        ({"iss": "https://other.example"}, "issuer"),
        ({"iss": None}, "no iss"),
        ({"sub": None}, "no sub"),
        ({"jti": None}, "no jti"),
        ({"exp": None}, "no exp"),
        ({"iat": None}, "no iat"),
        ({"nbf": None}, "no nbf"),
        ({"exp": 1_000_000_000}, "expired"),
        ({"exp": 10**400}, ""),
        ({"exp": "soon"}, ""),
        ({"iat": 10**400}, ""),
        ({"jti": ""}, "jti"),
        ({"jti": ["a"]}, ""),
        ({"header": {"kid": "unknown"}}, "kid"),
        ({"header": {"kid": ""}}, ""),
        ({"header": {"typ": "JWT"}}, "typ"),
        ({"by": "another key"}, "signature"),
        ({"by": "a secret of at least thirty-two bytes", "algorithm": "HS256"}, "alg"),
        ({"by": "", "algorithm": "none"}, "alg"),
    ],
    ids=str,
)
def test_a_token_that_is_not_ours_to_act_on_is_refused(sandbox, thing, send, sign, changed, why):
    """X14: no audience, a wrong one."""
    key = str(uuid.uuid4())
    token = sign("DELETE", f"/contacts/{thing}", thing, key, **changed) if changed.get("by") != "" else unsigned(thing)
    came = send(thing, key=key, token=token)
    assert came.status == 401
    assert came.headers["WWW-Authenticate"].startswith("Bearer")
    assert why in came.body["reason"]
    assert sandbox.seen(thing) == {"present": True, "undone": 0, "version": "", "requests": []}


def unsigned(id_):
    """Return a token without a signature, which no library makes with a key in hand."""
    return jwt.encode({"aud": AUDIENCE, "id": id_}, "", algorithm="none", headers={"typ": "at+jwt", "kid": KID})


def test_what_is_published_is_no_secret_to_sign_with(thing, send, sign, private):
    """HS256 under the public key, which every library once took."""
    key = str(uuid.uuid4())
    _, claims, _ = sign("DELETE", f"/contacts/{thing}", thing, key).split(".")
    head = encoded(json.dumps({"alg": "HS256", "typ": "at+jwt", "kid": KID}).encode())
    signature = hmac.new(json.dumps(jwk(private, KID)).encode(), f"{head}.{claims}".encode(), "sha256").digest()
    assert send(thing, key=key, token=f"{head}.{claims}.{encoded(signature)}").status == 401


def encoded(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.parametrize("audience", [AUDIENCE, [AUDIENCE], ["https://other.example", AUDIENCE]], ids=str)
def test_an_audience_that_holds_ours_is_accepted(thing, send, audience):
    """X14."""
    assert send(thing, aud=audience).status == 202


@pytest.mark.parametrize(("seconds", "status"), [(2, 202), (25, 202), (300, 401)])
def test_a_clock_that_is_a_little_ahead_is_forgiven(thing, send, seconds, status):
    """X13."""
    at = now_and(seconds)
    assert send(thing, iat=at, nbf=at, exp=at + 120).status == status


@pytest.mark.parametrize(("ago", "status"), [(10, 202), (60, 401)])
def test_a_token_ends(thing, send, ago, status):
    assert send(thing, exp=now_and(-ago)).status == status


@pytest.mark.parametrize("bearer", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a.b.c", "Bearer " + "x" * 9000])
def test_what_is_no_token_is_refused(sandbox, thing, bearer):
    came = sandbox.ask("DELETE", f"/contacts/{thing}", Authorization=bearer, Idempotency_Key="k")
    assert (came.status, came.body["error"]) == (401, "token-refused")


def test_a_token_writes_once(sandbox, thing, send, sign):
    key = str(uuid.uuid4())
    token = sign("DELETE", f"/contacts/{thing}", thing, key)
    assert send(thing, key=key, token=token).status == 202
    again = send(thing, key=key, token=token)
    assert (again.status, again.body["reason"]) == (401, "its jti was used before")
    sandbox.settle()
    assert sandbox.seen(thing)["undone"] == 1


@pytest.mark.parametrize(
    ("changed", "slug"),
    [
        ({"owner": "bob"}, "owner-refused"),
        ({"owner": None}, "token-refused"),
        ({"scope": "read"}, "scope-refused"),
        ({"scope": "compensatex:crm.create_contact"}, "scope-refused"),
        ({"scope": None}, "token-refused"),
        ({"authorization_details": None}, "token-refused"),
        ({"authorization_details": []}, "details-refused"),
        ({"authorization_details": ["x"]}, "details-refused"),
    ],
    ids=str,
)
def test_a_genuine_token_for_something_else_is_forbidden(sandbox, thing, send, changed, slug):
    came = send(thing, **changed)
    assert (came.status, came.body["error"]) == (403, slug)
    assert sandbox.seen(thing)["undone"] == 0


@pytest.mark.parametrize("wrong", [{"method": "POST"}, {"path": "/contacts/c"}, {"id": "c"}, {"request": "k"}], ids=str)
def test_a_token_allows_exactly_one_request(thing, send, wrong):
    key = str(uuid.uuid4())
    right = {"type": "compensation", "method": "DELETE", "path": f"/contacts/{thing}", "id": thing, "request": key}
    assert send(thing, key=key, authorization_details=[{**right, **wrong}]).status == 403
    assert send(thing, key=key, authorization_details=[right]).status == 202


def test_an_objects_own_tool_is_the_only_one(sandbox, send):
    sandbox.create("c_tool", tool="crm.merge")
    assert send("c_tool").status == 403
    assert send("c_tool", scope="read compensate:crm.merge").status == 202


def test_an_unknown_object_is_not_found_and_a_foreign_owner_does_not_make_it(sandbox, send):
    assert send("c_nowhere").status == 404
    sandbox.create("c_bobs", owner="bob")
    assert send("c_bobs").status == 403
    assert (
        sandbox.ask("POST", "/_control/objects", {"collection": "contacts", "id": "c_bobs", "owner": "x"}).status == 409
    )
