"""How do agents record what they did?"""

from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK as OK
from rest_framework.status import HTTP_201_CREATED as CREATED
from rest_framework.views import APIView

from sideeffects import presenters
from sideeffects.actors import Actor
from sideeffects.api.bodies import EffectsBody, ReasonBody, ToolCallBody
from sideeffects.api.schema import KEY_HEADER, LOCATION_HEADER, REPLAYED_HEADER, does
from sideeffects.api.shapes import RECORDED, GroupPageSerializer
from sideeffects.api.strict import idempotency_key
from sideeffects.fresh import FreshView
from sideeffects.models import Group
from sideeffects.services import execute, land, record
from sideeffects.tools import REGISTRY

NOTHING = "Nothing was recorded and no key is used up: the same call may be made again and is then recorded."


class ToolCalls(APIView):
    """Calls of tools: run here, or reported by who ran them."""

    @does(
        ToolCallBody,
        {200: RECORDED, 201: GroupPageSerializer},
        409,
        422,
        parameters=[KEY_HEADER, REPLAYED_HEADER, LOCATION_HEADER],
    )
    def post(self, request: Request) -> Response:
        """Record a call, once however often it is sent."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        body = ToolCallBody(data=request.data)
        body.is_valid(raise_exception=True)
        call = body.call(idempotency_key=idempotency_key(request))
        asked = {"call": call, "owner": actor.user, "by": actor, "now": timezone.now()}  # noqa: TID251  (a face)
        if body.runs_here(call.tool):
            return answered(execute.execute(tool=REGISTRY[call.tool], **asked), actor)
        return answered(record.record(**body.report(), **asked).check_agrees(), actor)


class Land(APIView):
    """The landing of a call that was in flight or lost."""

    @does(EffectsBody, {200: GroupPageSerializer}, 409, parameters=[REPLAYED_HEADER])
    def post(self, request: Request, group: UUID) -> Response:
        """Land the call with what it wrote; repeated, it is compared with what is held."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        body = EffectsBody(data=request.data)
        body.is_valid(raise_exception=True)
        done = land.land(group=group, effects=body.declared, by=actor, now=timezone.now())  # noqa: TID251  (a face)
        return answered(done.check_agrees(), actor, status=OK)


class Fail(APIView):
    """The agent's word that a call wrote nothing."""

    @does(ReasonBody, {200: GroupPageSerializer}, 409)
    def post(self, request: Request, group: UUID) -> Response:
        """Take the agent's word that an open call failed; its key is free again."""
        return ended(request, group, land.fail)


class Lose(APIView):
    """The agent's word that it lost track of a call."""

    @does(ReasonBody, {200: GroupPageSerializer}, 409)
    def post(self, request: Request, group: UUID) -> Response:
        """Take the agent's word that it does not know what became of an open call, which may still land."""
        return ended(request, group, land.lose)


def ended(request: Request, group: UUID, verb: Any) -> Response:
    """Answer how a call ended otherwise than by landing."""
    actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    body = ReasonBody(data=request.data)
    body.is_valid(raise_exception=True)
    row = verb(group=group, by=actor, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
    return Response(page_of(row, actor))


def answered(done: land.Recorded, actor: Actor, status: int = CREATED) -> Response:
    """Answer what recording came to."""
    if done.group is None:
        return Response({"group": None, "detail": NOTHING})
    page = page_of(done.group, actor, done.written)
    if done.result == "replayed":
        return Response(page, headers={"Idempotency-Replayed": "true"})
    if done.result == "failed" or status != CREATED:
        return Response(page)
    return Response(page, CREATED, headers={"Location": page["url"]})


def page_of(group: Group, actor: Actor, written: land.Written | None = None) -> Any:
    """Return the group as its own address shows it; what was written just now is not read back."""
    view = FreshView(group, written, by=actor) if written else presenters.views_of([group], by=actor)[0]
    return GroupPageSerializer.of(view)
