"""How is a call in flight revoked when it arrives?"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects.api.bodies import ReasonBody
from sideeffects.api.schema import does
from sideeffects.api.shapes import FenceSerializer
from sideeffects.models import Fence
from sideeffects.services import fence

if TYPE_CHECKING:
    from sideeffects.actors import Actor


class GroupFence(APIView):
    """The fence of one call."""

    @does(ReasonBody, {200: FenceSerializer}, 409, 422)
    def put(self, request: Request, group: UUID) -> Response:
        """Have the call revoked as soon as it lands, if whoever asks may still revoke it then; repeated, it stays."""
        return answered(request, group, fence.put)

    @does(ReasonBody, {200: FenceSerializer}, 409, 422)
    def delete(self, request: Request, group: UUID) -> Response:
        """Lift the fence that waits: a person's decision; a body may say why, and must for what is another's."""
        return answered(request, group, fence.lift)


def answered(request: Request, group: UUID, verb: Callable[..., Fence]) -> Response:
    """Ask a service about the fence of one group and answer how it stands."""
    body = ReasonBody(data=request.data)
    body.is_valid(raise_exception=True)
    by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    row = verb(group=group, by=by, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
    return Response(FenceSerializer(row).data)
