"""Which objects did agents write, wherever they lie?"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects import policies, queries
from sideeffects.actors import Actor
from sideeffects.api.bodies import RevokeBody
from sideeffects.api.groups import take_back
from sideeffects.api.lists import Listing
from sideeffects.api.schema import does, reads
from sideeffects.api.shapes import EffectSerializer, RevokedSerializer
from sideeffects.filters import EffectFilter
from sideeffects.models import Effect
from sideeffects.requested import with_askings


class Effects(Listing):
    """Effects, newest first; those of one group principal first."""

    serializer_class = EffectSerializer
    filterset_class = EffectFilter
    queryset = Effect.objects.all()

    def order(self, request: Request) -> str:
        """Return the order: keys grow with position."""
        return "pk" if "group" in request.query_params else "-pk"

    def rows(self, by: Actor) -> Any:
        """Return the effects this asker may see."""
        return queries.effects_of(policies.visible_groups(by))

    def shown(self, rows: Sequence[Any], by: Actor) -> Sequence[Any]:  # noqa: ARG002  (the same for all)
        """Return them with what is asked about them."""
        return with_askings(rows)


class OneEffect(APIView):
    """One effect."""

    @reads(EffectSerializer)
    def get(self, request: Request, effect: UUID) -> Response:
        """Return it."""
        [row] = with_askings([visible(request, effect)])
        return Response(EffectSerializer.of(row))


class RevokeEffect(APIView):
    """The taking back of the whole call that an effect belongs to."""

    @does(RevokeBody, {200: RevokedSerializer}, 409, 422, 429)
    def post(self, request: Request, effect: UUID) -> Response:
        """Take back the whole group of the effect: one business action is one group."""
        return take_back(request, visible(request, effect).group_id)


def visible(request: Request, effect: UUID) -> Effect:
    """Return the effect; raises Http404 where it is not there or not theirs."""
    by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    return get_object_or_404(queries.effects_of(policies.visible_groups(by)), pk=effect)
