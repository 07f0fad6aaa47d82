"""Can anyone verify our tokens with what we publish, and do keys change without one being refused?"""

import base64
import subprocess

import jwt
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from sideeffects import identity, vault
from sideeffects.identity import signer_of
from sideeffects.models import SigningKey
from sideeffects.services import keys
from sideeffects.services.carry_out import call
from sideeffects.services.claim import claim
from tests.external import WORKER, asked, bodies, contact, registered
from tests.factories import NOW, later

pytestmark = [pytest.mark.django_db, pytest.mark.both]
CLAIMS = {"iss": "x", "aud": "https://crm.example", "sub": "alice"}


def published():
    answer = Client().get("/.well-known/jwks.json")
    assert answer["Content-Type"] == "application/json"
    assert "max-age" in answer["Cache-Control"]
    return {key["kid"]: key for key in answer.json()["keys"]}


def verify(token):
    key = published()[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(
        token, jwt.PyJWK(key).key, algorithms=["ES256"], audience="https://crm.example", options={"verify_exp": False}
    )


def test_a_second_library_and_openssl_verify_a_token_with_the_published_key(tmp_path):
    token = signer_of(keys.active(by=WORKER, now=NOW)).token(CLAIMS)
    assert verify(token)["sub"] == "alice"
    head, body, signature = token.split(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    numbers = [raw[:32].lstrip(b"\0"), raw[32:].lstrip(b"\0")]
    parts = b"".join(b"\x02" + bytes([len(n) + (n[0] > 127)]) + b"\0" * (n[0] > 127) + n for n in numbers)
    (tmp_path / "signature").write_bytes(b"\x30" + bytes([len(parts)]) + parts)
    (tmp_path / "signed").write_text(f"{head}.{body}")
    key = published()[jwt.get_unverified_header(token)["kid"]]
    (tmp_path / "key.pem").write_bytes(pem(key))
    command = ["openssl", "dgst", "-sha256", "-verify", "key.pem", "-signature", "signature", "signed"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Verified OK", done.stderr


def pem(key):
    """Return a public P-256 JWK as PEM: a fixed head and the point."""
    head = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
    point = b"".join(base64.urlsafe_b64decode(key[name] + "=") for name in ("x", "y"))
    return b"-----BEGIN PUBLIC KEY-----\n" + base64.encodebytes(head + point) + b"-----END PUBLIC KEY-----\n"


def test_the_private_half_is_nowhere_plain():
    active = keys.active(by=WORKER, now=NOW)
    assert '"d"' not in active.private
    assert all(set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"} for key in published().values())
    assert active.kid in published()
    with pytest.raises(vault.CannotOpenError):
        vault.open_(active.private, about="signing key of someone else")


def test_the_key_secret_can_be_replaced(settings):
    closed = vault.close("x", about="y")
    settings.KEY_SECRETS = ["new", *settings.KEY_SECRETS]
    assert vault.open_(closed, about="y") == "x"
    settings.KEY_SECRETS = ["new"]
    with pytest.raises(vault.CannotOpenError):
        vault.open_(closed, about="y")


def test_rotation_never_signs_with_a_key_that_was_not_published_long_enough():
    first = keys.active(by=WORKER, now=NOW)
    known = published()
    assert len(known) == 2
    with pytest.raises(keys.KeyTooNewError):
        keys.rotate(by=WORKER, now=later(minutes=9))
    second = keys.rotate(by=WORKER, now=later(minutes=10))
    assert second.kid in known
    assert {first.kid, second.kid} <= set(published())
    verify(signer_of(first).token(CLAIMS))  # a token that is still on its way
    keys.rotate(by=WORKER, now=later(minutes=25))
    assert first.kid not in published()
    assert SigningKey.objects.get(kid=first.kid).state == "retired"
    assert len(bodies("keys_rotated")) == 2


def test_a_known_key_is_withdrawn_at_once_by_command():
    first = keys.active(by=WORKER, now=NOW)
    call_command("rotate_keys", "--at-once", verbosity=0)
    assert first.kid not in published()
    with pytest.raises(CommandError, match="known to every target"):
        call_command("rotate_keys")


def test_keys_change_while_requests_go_and_every_token_verifies(fake):
    registered(fake.url, max_in_flight=50)
    for number in range(9):
        asked(contact(f"c_{number}"))
    for turn in range(3):
        for one in claim(room=3, by=WORKER, now=later(hours=turn)):
            call(one, now=later(hours=turn))
        keys.rotate(by=WORKER, now=later(hours=turn, minutes=15))
        identity._opened.clear()
        tokens = [seen.headers["Authorization"].removeprefix("Bearer ") for seen in fake.seen[-3:]]
        assert [verify(token)["owner"] for token in tokens] == ["alice"] * 3
    assert len({jwt.get_unverified_header(seen.headers["Authorization"][7:])["kid"] for seen in fake.seen}) == 3
