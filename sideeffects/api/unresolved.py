"""What is unresolved, since when, and why?"""

from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects import policies, unresolved
from sideeffects.api.schema import reads
from sideeffects.api.shapes import Shape, counted, one_of
from sideeffects.models import Group
from sideeffects.unresolved import Cause, Share

if TYPE_CHECKING:
    from sideeffects.actors import Actor


class OldestSerializer(Shape):
    """The one that waits longest."""

    group = serializers.UUIDField()
    request = serializers.UUIDField(allow_null=True)
    url = serializers.CharField()
    what = serializers.CharField()
    target = serializers.CharField(allow_null=True)


class ShareSerializer(Shape):
    """All that is unresolved for one cause."""

    cause = one_of(Cause)
    count = serializers.IntegerField()
    ages = counted("how many of each age: under 5 min, under an hour, under a day, under a week, older")
    oldest_at = serializers.DateTimeField()
    oldest = serializers.SerializerMethodField()

    @extend_schema_field(OldestSerializer(allow_null=True))
    def get_oldest(self, share: Share) -> dict[str, Any] | None:
        """Return which it is, and where to look at it."""
        row = share.oldest
        if row is None:
            return None
        if isinstance(row, Group):
            return {
                "group": row.pk,
                "request": None,
                "url": reverse("api-group", args=[row.pk]),
                "what": row.tool,
                "target": None,
            }
        what = f"{row.effect.type} {row.effect.object_id}"
        url = reverse("api-request", args=[row.pk])
        return {"group": row.effect.group_id, "request": row.pk, "url": url, "what": what, "target": row.target.name}


class DownSerializer(Shape):
    """A target that cannot be reached: one fact, however many requests wait."""

    name = serializers.CharField()
    since = serializers.DateTimeField(source="unreachable_since")
    why = serializers.CharField(source="unreachable_why")


class UnresolvedSerializer(Shape):
    """What is unresolved now."""

    as_of = serializers.DateTimeField()
    total = serializers.IntegerField()
    causes = ShareSerializer(many=True)
    unreachable = DownSerializer(many=True)


class Unresolved(APIView):
    """What is unresolved."""

    @reads(UnresolvedSerializer)
    def get(self, request: Request) -> Response:
        """Return it by cause and by age, the oldest of each cause named; one's own, an admin's all."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        now = timezone.now()  # noqa: TID251  (a face)
        causes = unresolved.shares(policies.visible_groups(actor), now=now)
        total = sum(share.count for share in causes)
        answer = {"as_of": now, "total": total, "causes": causes, "unreachable": unresolved.unreachable()}
        return Response(UnresolvedSerializer(answer).data)
