"""What does a person decide about a declaration that differs?"""

from typing import TYPE_CHECKING
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects.api.bodies import LONGEST_REASON
from sideeffects.api.schema import does
from sideeffects.api.shapes import ConflictSerializer, one_of
from sideeffects.api.strict import Strict, Text
from sideeffects.models import Declaration
from sideeffects.services import resolve

if TYPE_CHECKING:
    from sideeffects.actors import Actor


class ResolveBody(Strict):
    """A decision: the extra members join, the repeat stands by itself, or it counts for nothing."""

    action = one_of(Declaration.Resolution)
    reason = Text(
        max_length=LONGEST_REASON,
        required=False,
        allow_blank=True,
        default="",
        help_text="Needed to dismiss, and for deciding about what is another's.",
    )


class ResolvedSerializer(ConflictSerializer):
    """A difference that is decided, and whether this asking decided it."""

    group = serializers.UUIDField(source="group_id")
    already = serializers.SerializerMethodField(help_text="true where it had been decided so before")

    def get_already(self, _row: Declaration) -> bool:
        """Say whether this asking changed nothing."""
        return bool(self.context["already"])


class Resolve(APIView):
    """The deciding about one difference."""

    @does(ResolveBody, {200: ResolvedSerializer}, 409, 422)
    def post(self, request: Request, conflict: UUID) -> Response:
        """Adopt, split or dismiss it, once and for ever; decided otherwise before, 409 says what stands."""
        body = ResolveBody(data=request.data)
        body.is_valid(raise_exception=True)
        by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        done = resolve.resolve(conflict=conflict, by=by, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
        return Response(ResolvedSerializer(done.declaration, context={"already": done.already}).data)
