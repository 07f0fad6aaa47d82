"""Does the sandbox outlive whatever is sent to it, keep what it did, and stop when told?"""

import json
import signal
import socket
import subprocess
import sys
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.fakes import serving
from tests.sandbox import AUDIENCE, ISSUER, KID, ROOT, SECRET, jwk, running, until, webhook_id


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
