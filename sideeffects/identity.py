"""As whom does this console speak to a target? Delegated tokens (RFC 9068, RFC 8693, RFC 9396), ES256, one a try."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

from sideeffects.models import Request, SigningKey
from sideeffects.vault import CannotOpenError, open_

LIFETIME = timedelta(seconds=120)
CONSOLE = "takeback"


class CannotSignError(Exception):
    """No token can be made now."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"No token can be made: {why}.")


@dataclass(frozen=True)
class Signer:
    """The active key, opened."""

    kid: str
    key: ECKey

    def token(self, claims: dict[str, Any]) -> str:
        """Return the signed token."""
        header = {"typ": "at+jwt", "alg": "ES256", "kid": self.kid}
        return jwt.encode(header, claims, self.key, algorithms=["ES256"])


_opened: dict[tuple[str, str], Signer] = {}  # opening costs a key derivation; keys are few


def signer_of(key: SigningKey) -> Signer:
    """Return the signer of a key's row; raises CannotSignError."""
    known = _opened.get((key.kid, key.private))
    if known is not None:
        return known
    try:
        opened = ECKey.import_key(json.loads(open_(key.private, about=f"signing key {key.kid}")))
    except CannotOpenError as error:
        raise CannotSignError(str(error)) from error
    return _opened.setdefault((key.kid, key.private), Signer(key.kid, opened))


def made() -> tuple[str, dict[str, Any], str]:
    """Return a new key: its kid (RFC 7638 thumbprint), its public JWK, its private JWK as text."""
    key = ECKey.generate_key("P-256", private=True)
    kid = key.thumbprint()
    public = {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": "ES256"}
    return kid, public, json.dumps(key.as_dict(private=True))


def claims_for(request: Request, *, jti: str, method: str, url: str, issuer: str, now: datetime) -> dict[str, Any]:
    """Return what a token says: who asked for whom, by what, and the one thing it may do at the one target."""
    tool, effect = request.tool_version.tool.name, request.effect
    agent = request.agent.name if request.agent else ""
    return {
        "iss": issuer,
        "sub": request.user.get_username(),
        "owner": effect.group.owner.get_username(),
        "act": {"sub": f"agent:{agent}" if agent else CONSOLE},
        "client_id": agent or CONSOLE,
        "aud": request.target.audience,
        "iat": int(now.timestamp()),
        "nbf": int(now.timestamp()),
        "exp": int((now + LIFETIME).timestamp()),
        "jti": jti,
        "scope": f"compensate:{tool}",
        "authorization_details": [
            {
                "type": "compensation",
                "method": method,
                "path": urlsplit(url).path,
                "id": effect.object_id,
                "request": str(request.pk),
            }
        ],
    }
