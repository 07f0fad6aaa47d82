"""What did agents do, and can it be taken back?"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects import policies, presenters, queries
from sideeffects.actors import Actor
from sideeffects.api.bodies import ReasonBody, RevokeBody
from sideeffects.api.lists import Listing
from sideeffects.api.schema import does, reads
from sideeffects.api.shapes import AnswerSerializer, GroupPageSerializer, GroupSerializer, RevokedSerializer
from sideeffects.filters import GroupFilter
from sideeffects.models import Group, Revocation
from sideeffects.services import restore, revoke


class Groups(Listing):
    """Tool calls, newest first."""

    serializer_class = GroupSerializer
    filterset_class = GroupFilter
    queryset = Group.objects.all()

    def rows(self, by: Actor) -> Any:
        """Return the groups this asker may see."""
        return queries.shown(policies.visible_groups(by))

    def shown(self, rows: Sequence[Any], by: Actor) -> Sequence[Any]:
        """Return them with their numbers."""
        return presenters.views_of(rows, by=by)


class OneGroup(APIView):
    """One tool call."""

    @reads(GroupPageSerializer)
    def get(self, request: Request, group: UUID) -> Response:
        """Return it with its first members, its conflicts, and what was asked about it."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        row = get_object_or_404(queries.shown(policies.visible_groups(actor)), pk=group)
        [view] = presenters.views_of([row], by=actor)
        return Response(GroupPageSerializer.of(view))


class Revoke(APIView):
    """The taking back of one call."""

    @does(RevokeBody, {200: RevokedSerializer}, 409, 422, 429)
    def post(self, request: Request, group: UUID) -> Response:
        """Take back everything that the call wrote and that can be taken back; repeated, it answers what is."""
        return take_back(request, group)


class Restore(APIView):
    """The bringing back of what a revoke removed."""

    @does(ReasonBody, {200: AnswerSerializer}, 409, 422)
    def post(self, request: Request, group: UUID) -> Response:
        """Bring back exactly what the newest revocation removed; repeated, it answers what is."""
        return asked(request, group, restore.restore)


def take_back(request: Request, group: UUID) -> Response:
    """Take one group back, with those that build on it where that is asked, and answer what it came to."""
    body = RevokeBody(data=request.data)
    body.is_valid(raise_exception=True)
    by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    terms: dict[str, Any] = {"by": by, "now": timezone.now(), "trigger": Revocation.Trigger.API}  # noqa: TID251  (a face)
    results = {result.group: result for result in revoke.revoke(**body.asked(group), **terms)}
    own = results.pop(group).unwrap()
    return Response(RevokedSerializer(own, context={"also": list(results.values())}).data)


def asked(request: Request, group: UUID, verb: Callable[..., Any], **options: Any) -> Response:
    """Ask a service about one group and answer what it came to."""
    body = ReasonBody(data=request.data)
    body.is_valid(raise_exception=True)
    by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    [result] = verb(groups=[group], by=by, now=timezone.now(), **body.validated_data, **options)  # noqa: TID251  (a face)
    return Response(AnswerSerializer(result.unwrap()).data)
