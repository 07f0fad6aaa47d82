"""Is a bearer token ours to act on? Verified with PyJWT and the keys that the console publishes."""

import json
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

LEEWAY = 30  # seconds by which the two clocks may differ
LARGEST = 64 * 1024
FRESH, SOON = 300.0, 1.0  # seconds after which published keys are looked at again; each unknown one at the earliest
REQUIRED = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]


class TokenRefusedError(Exception):
    """A token is not taken; `status` is 401, or 403 where it is genuine and allows something else."""

    def __init__(self, why: str, status: int = 401) -> None:
        self.why, self.status = why, status
        super().__init__(why)


class KeysUnreachableError(Exception):
    """The console's keys cannot be fetched, so that no token can be judged now."""


@dataclass(frozen=True)
class Token:
    """What a genuine token says."""

    jti: str
    until: float
    owner: str
    scopes: tuple[str, ...]
    details: tuple[Mapping[str, Any], ...]


class Keys:
    """The console's published keys, fetched again every five minutes and for a key that is not known yet."""

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._at = float("-inf")
        self._missing: dict[str, float] = {}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def find(self, kid: str) -> jwt.PyJWK:
        """Return the key of this id; raises TokenRefusedError, KeysUnreachableError."""
        with self._lock:
            now = time.monotonic()
            missed = self._missing.get(kid, float("-inf"))
            fetched = True
            if now - self._at > FRESH or (kid not in self._keys and now - missed > SOON):
                fetched = self._fetch()
            if kid in self._keys:
                return self._keys[kid]
            if not fetched:
                raise KeysUnreachableError  # it may be published by now: no verdict on the token
            if len(self._missing) > 100:  # noqa: PLR2004  (made-up ones must not fill the memory)
                self._missing.clear()
            self._missing[kid] = now
            raise TokenRefusedError("its kid names no published key")

    def _fetch(self) -> bool:
        """Look again and say whether that worked; if not, the keys known already go on until the next look."""
        try:
            with self._opener.open(self._url, timeout=3) as answer:
                listed = json.loads(answer.read(LARGEST))["keys"]
            found = {key["kid"]: jwt.PyJWK(key, algorithm="ES256") for key in listed if key.get("crv") == "P-256"}
        except Exception:  # noqa: BLE001  (whatever an answer that is no key set makes fail)
            self._at = time.monotonic() - FRESH + SOON
            return False
        self._keys, self._at = found, time.monotonic()
        return True


def verified(bearer: str, *, keys: Keys, issuer: str, audience: str) -> Token:
    """Return what the token says if it is genuine, in time and made out to us; raises TokenRefusedError."""
    scheme, _, text = bearer.partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise TokenRefusedError("a Bearer token is needed")
    try:
        key = keys.find(_kid(jwt.get_unverified_header(text.strip())))
        claims = jwt.decode(
            text.strip(),
            key,
            algorithms=["ES256"],
            audience=audience,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": REQUIRED},
        )
        return _read(claims)
    except (TokenRefusedError, KeysUnreachableError):
        raise
    except jwt.PyJWTError as error:
        raise TokenRefusedError(_sentence(error)) from None
    except Exception:  # noqa: BLE001  (Infinity as exp, a list as iss: what no library has thought of)
        raise TokenRefusedError("it cannot be read") from None


def _kid(header: Mapping[str, Any]) -> str:
    if str(header.get("typ", "")).lower().removeprefix("application/") != "at+jwt":
        raise TokenRefusedError("its typ is not at+jwt")
    if header.get("alg") != "ES256":
        raise TokenRefusedError("its alg is not ES256")
    return str(header.get("kid", ""))


def _read(claims: Mapping[str, Any]) -> Token:
    jti, owner, scope = claims["jti"], claims.get("owner"), claims.get("scope")
    details = claims.get("authorization_details")
    if not (isinstance(jti, str) and 0 < len(jti) <= 200):  # noqa: PLR2004  (more is no id)
        raise TokenRefusedError("its jti is no id")
    if not isinstance(owner, str) or not isinstance(scope, str) or not isinstance(details, list):
        raise TokenRefusedError("owner, scope and authorization_details are needed", 403)
    listed = tuple(one for one in details if isinstance(one, dict))
    return Token(jti, float(claims["exp"]) + LEEWAY, owner, tuple(scope.split()), listed)


def _sentence(error: jwt.PyJWTError) -> str:
    """Return what is wrong, by the error's class alone: its text may quote the token."""
    known: dict[type[jwt.PyJWTError], str] = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.ImmatureSignatureError: "it is from the future",
        jwt.InvalidAudienceError: "its audience is not this target",
        jwt.InvalidIssuerError: "its issuer is not the console",
        jwt.InvalidSignatureError: "its signature is wrong",
    }
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it has no {error.claim}"
    return next((words for kind, words in known.items() if isinstance(error, kind)), "it cannot be read")
