"""Does the sandbox hold to what it promises? Nobody's fake: whoever replaces it has to pass this."""

import base64
import hmac
import json
import signal
import socket
import subprocess
import sys
import time
import uuid

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks import Webhook

from tests.fakes import serving
from tests.sandbox import AUDIENCE, ISSUER, ROOT, running, until

SECRET = "whsec_" + "YS1zZWNyZXQtb2YtdGhlLWNvbnRyYWN0LXN1aXRl"
KID = "the-key"


@pytest.fixture(scope="module")
def private():
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key, kid):
    return {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": kid, "alg": "ES256"}


@pytest.fixture(scope="module")
def console(private):
    """Give a console that publishes its key and takes every callback."""
    published = json.dumps({"keys": [jwk(private, KID), {"kty": "RSA", "kid": "odd"}]}).encode()
    with serving(lambda seen: (200, {}, published if seen.method == "GET" else b"")) as one:
        yield one


@pytest.fixture(scope="module")
def process(console):
    with running(f"{console.url}/jwks", callback=f"{console.url}/hear", secret=SECRET, settle_after=3600) as one:
        yield one


@pytest.fixture
def sandbox(process, console):
    console.seen.clear()
    return process


@pytest.fixture
def sign(private):
    """Give what makes a token as the console would, with what a test wants otherwise; None leaves a claim out."""

    def make(method, path, id_, key="", *, header=None, by=None, algorithm="ES256", **changed):
        now = int(time.time())
        details = {"type": "compensation", "method": method, "path": path, "id": id_, "request": key}
        claims = {
            "iss": ISSUER,
            "sub": "alice",
            "owner": "alice",
            "act": {"sub": "takeback"},
            "client_id": "takeback",
            "aud": AUDIENCE,
            "iat": now,
            "nbf": now,
            "exp": now + 120,
            "jti": str(uuid.uuid4()),
            "scope": "compensate:crm.create_contact",
            "authorization_details": [details],
            **changed,
        }
        told = {name: value for name, value in claims.items() if value is not None}
        headers = {"typ": "at+jwt", "kid": KID, **(header or {})}
        by = ec.generate_private_key(ec.SECP256R1()) if by == "another key" else by
        return jwt.encode(told, by or private, algorithm=algorithm, headers=headers)

    return make


@pytest.fixture
def thing(sandbox):
    """Give the id of a new contact of alice's."""
    id_ = f"c_{uuid.uuid4().hex[:8]}"
    sandbox.create(id_)
    return id_


@pytest.fixture
def send(sandbox, sign):
    """Give what sends one request with a token of its own: a DELETE of a contact where nothing else is said."""

    def make(id_, *, method="DELETE", path="", key=None, body=None, headers=None, token=None, **changed):
        key = str(uuid.uuid4()) if key is None else key
        path = path or f"/contacts/{id_}"
        token = token or sign(method, path, id_, key, **changed)
        named = {"Authorization": f"Bearer {token}", **(headers or {})}
        return sandbox.ask(method, path, body, **named, **({"Idempotency_Key": key} if method != "GET" else {}))

    return make


def webhook_id(seen):
    return {name.lower(): value for name, value in seen.headers.items()}["webhook-id"]


def now_and(seconds):
    return int(time.time()) + seconds


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


def test_a_callback_that_is_not_heard_is_told_again(private):
    tries = []
    published = json.dumps({"keys": [jwk(private, KID)]}).encode()

    def deaf_at_first(seen):
        if seen.method == "GET":
            return 200, {}, published
        tries.append(webhook_id(seen))
        return (503 if len(tries) < 2 else 200), {}, b""

    with (
        serving(deaf_at_first) as console,
        running(f"{console.url}/jwks", callback=console.url, secret=SECRET, settle_after=0) as one,
    ):
        one.create("c_1")
        now = int(time.time())
        details = [{"type": "compensation", "method": "DELETE", "path": "/contacts/c_1", "id": "c_1", "request": "k"}]
        claims = {"iss": ISSUER, "sub": "alice", "owner": "alice", "aud": AUDIENCE, "iat": now, "nbf": now}
        claims |= {"exp": now + 60, "jti": "j", "scope": "compensate:x", "authorization_details": details}
        token = jwt.encode(claims, private, algorithm="ES256", headers={"typ": "at+jwt", "kid": KID})
        one.ask("DELETE", "/contacts/c_1", Authorization=f"Bearer {token}", Idempotency_Key="k")
        until(lambda: len(tries) == 2)
        assert len(set(tries)) == 1


@pytest.mark.parametrize(
    "told",
    [
        {"do": "explode"},
        {"do": "busy", "times": 0},
        {"do": "busy", "times": True},
        {"do": "hang", "seconds": -1},
        {"do": "hang", "seconds": 1e999},
        {"do": "busy", "retry_after": "1\r\nX: y"},
        {"do": "redirect", "url": "http://ü"},
        {"do": "accept", "on": "never"},
        {"do": ["accept"]},
        {"do": "accept", "on": ["write"]},
        {"do": "accept", "wait": 1},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused_by_name(sandbox, thing, told):
    came = sandbox.ask("PUT", f"/_control/objects/contacts/{thing}/behaviour", told)
    assert (came.status, came.body["error"]) == (400, "cannot-be-meant")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/_control/objects", b"{", 400),
        ("POST", "/_control/objects", b"[" * 30_000, 400),
        ("POST", "/_control/objects", b"[]", 400),
        ("POST", "/_control/objects", b"\xff", 400),
        ("POST", "/_control/objects", {"collection": [], "id": {}, "owner": 1}, 400),
        ("POST", "/_control/objects", {"collection": "c", "id": "i", "owner": "o", "present": []}, 400),
        ("POST", "/_control/callbacks", {"request": [], "status": []}, 400),
        ("POST", "/_control/callbacks", {"request": {}, "status": "done"}, 404),
        ("POST", "/_control/objects", b"x" * 70_000, 413),
        ("GET", "/_control/nothing", None, 404),
        ("GET", "/%ff%fe/%00", None, 401),
        ("PATCH", "/contacts/c", b"", 501),
    ],
    ids=lambda value: str(value)[:30],
)
def test_nothing_breaks_it(sandbox, method, path, body, status):
    came = sandbox.ask(method, path, body)
    assert came.status == status
    assert came.body["error"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /_control/objects HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: -5\r\n\r\n",
        b"POST /_control/objects HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 9\r\n\r\nabc",
        b"POST /_control/objects HTTP/1.1\r\nHost: 127.0.0.1:1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /_control/objects HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /_control/objects HTTP/1.1\r\nHost: 127.0.0.1:1\r\nOrigin: http://evil.example\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
    ids=lambda value: str(value)[:40],
)
def test_no_bytes_break_it(sandbox, raw):
    with socket.create_connection(("127.0.0.1", sandbox.port), timeout=20) as link:
        link.sendall(raw)
        link.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: link.recv(65536), b""))
    assert b" 200 " not in said.partition(b"\r\n")[0]
    assert sandbox.ask("POST", "/_control/settle", {}).status == 200


def test_keys_that_cannot_be_fetched_are_no_verdict_on_a_token(sign):
    with running("http://127.0.0.1:1/jwks") as one:
        one.create("c_1")
        token = sign("DELETE", "/contacts/c_1", "c_1", "k")
        came = one.ask("DELETE", "/contacts/c_1", Authorization=f"Bearer {token}", Idempotency_Key="k")
    assert (came.status, came.headers["Retry-After"]) == (503, "1")


def test_a_new_key_is_known_without_waiting(private):
    keys = {"old": private}

    def publish(_seen):
        return 200, {}, json.dumps({"keys": [jwk(key, kid) for kid, key in keys.items()]}).encode()

    def bearer(kid):
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": "a", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 60, "jti": kid}
        claims |= {"owner": "alice", "scope": "compensate:x", "authorization_details": []}
        return "Bearer " + jwt.encode(claims, keys[kid], algorithm="ES256", headers={"typ": "at+jwt", "kid": kid})

    with serving(publish) as console, running(console.url) as one:
        assert one.ask("GET", "/contacts/c_1", Authorization=bearer("old")).body["error"] == "details-refused"
        keys["new"] = ec.generate_private_key(ec.SECP256R1())
        wanted = bearer("new")
        until(
            lambda: one.ask("GET", "/contacts/c_1", Authorization=wanted).body["error"] == "details-refused", seconds=3
        )


def test_what_it_did_outlives_a_kill(console, sign, tmp_path):
    options = {"state": tmp_path / "state.json", "settle_after": 0}
    headers = {"Idempotency_Key": "k"}
    with running(f"{console.url}/jwks", **options) as one:
        one.create("c_1")
        token = sign("DELETE", "/contacts/c_1", "c_1", "k")
        assert one.ask("DELETE", "/contacts/c_1", Authorization=f"Bearer {token}", **headers).status == 202
        one.process.kill()
    with running(f"{console.url}/jwks", **options) as two:
        assert two.port == one.port
        assert two.ask("DELETE", "/contacts/c_1", Authorization=f"Bearer {token}", **headers).status == 401
        token = sign("DELETE", "/contacts/c_1", "c_1", "k")
        assert two.ask("DELETE", "/contacts/c_1", Authorization=f"Bearer {token}", **headers).status == 202
        assert (two.seen("c_1")["undone"], len(two.seen("c_1")["requests"])) == (1, 2)
    (tmp_path / "state.json").write_text('{"things": 7}')
    with running(f"{console.url}/jwks", **options) as three:
        assert three.seen("c_1") == {"error": "not-found"}


@pytest.mark.parametrize("how", ["told", "left alone"])
def test_it_stops_within_a_second_whatever_hangs(console, sign, how):
    with running(f"{console.url}/jwks") as one:
        one.create("c_1")
        one.tell("c_1", "hang", seconds=60)
        token = sign("DELETE", "/contacts/c_1", "c_1", "k")
        with socket.create_connection(("127.0.0.1", one.port)) as link:
            link.sendall(
                f"DELETE /contacts/c_1 HTTP/1.1\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: k\r\n\r\n".encode()
            )
            until(lambda: bool(one.seen("c_1")["requests"]))
            asked = time.monotonic()
            if how == "told":
                one.process.send_signal(signal.SIGTERM)
            else:
                one.leave_alone()
            assert one.process.wait(5) == 0
            assert time.monotonic() - asked < 1


def test_it_imports_nothing_of_this_project():
    code = "import sys, config.sandbox.__main__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"django", "sideeffects", "audit", "plans", "joserfc", "standardwebhooks", "httpx2"}
    assert {name for name in done.stdout.split() if name.startswith("config.") and "sandbox" not in name} == set()
