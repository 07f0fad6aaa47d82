"""What do the sandbox's own tests share? The process, a console that publishes a key, tokens as it would make them."""

import json
import time
import uuid

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.fakes import serving
from tests.sandbox import AUDIENCE, ISSUER, KID, SECRET, jwk, running


@pytest.fixture(scope="package")
def private():
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="package")
def console(private):
    """Give a console that publishes its key and takes every callback."""
    published = json.dumps({"keys": [jwk(private, KID), {"kty": "RSA", "kid": "odd"}]}).encode()
    with serving(lambda seen: (200, {}, published if seen.method == "GET" else b"")) as one:
        yield one


@pytest.fixture(scope="package")
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
