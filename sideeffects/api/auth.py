"""Which agent sends this request? Bearer tokens of agents."""

from django.utils import timezone
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from sideeffects.models import AgentToken
from sideeffects.services import tokens


class AgentTokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer <agent token>`; `request.auth` is the token, `request.user` whom it acts for."""

    def authenticate(self, request: Request) -> tuple[object, AgentToken] | None:
        """Return owner and token, None where no token is sent; every bad token is refused in the same words."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        token = tokens.authenticate(secret=secret.strip(), now=timezone.now()) if scheme.lower() == "bearer" else None  # noqa: TID251  (a face)
        if token is None:
            raise exceptions.AuthenticationFailed("This token does not open anything.")
        return token.owner, token

    def authenticate_header(self, _request: Request) -> str:
        """Say how to authenticate."""
        return 'Bearer realm="takeback"'
