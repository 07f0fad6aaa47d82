"""How does a program propose a plan, and read what was found?"""

from collections.abc import Mapping
from typing import IO, Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from plans import queries
from plans.core import report, schema
from plans.core.artifact import MAX_BYTES
from plans.core.verdict import PROFILES
from plans.models import PlanSubmission
from plans.services.submit import PlanRefusedError, judge, submit
from sideeffects.actors import Actor
from sideeffects.api.lists import Listing
from sideeffects.api.schema import does, reads


class PlanParser(BaseParser):
    """Hands on the exact bytes: the validator reads them itself, and the digest is over what was sent."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], _media_type: str | None = None, _parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the bytes, one more than may be read where there are more."""
        return stream.read(MAX_BYTES + 1)


class RemarkSerializer(serializers.Serializer[Any]):
    """A violation or a warning."""

    rule = serializers.CharField()
    path = serializers.ListField(help_text="names and indexes that lead to the member")
    message = serializers.CharField()
    fix = serializers.ListField(required=False, help_text="its part of the first fix, as JSON Patch operations")


class FixSerializer(serializers.Serializer[Any]):
    """Edits, each set of which makes the plan valid."""

    name = serializers.CharField()
    text = serializers.CharField()
    edits = serializers.ListField(help_text="JSON Patch operations (RFC 6902)")


class PlanVerdictSerializer(serializers.Serializer[Any]):
    """Everything there is to say about a plan."""

    ok = serializers.BooleanField()
    violations = RemarkSerializer(many=True)
    warnings = RemarkSerializer(many=True)
    fixes = FixSerializer(many=True)
    filledIn = serializers.ListField(child=serializers.CharField())  # noqa: N815  (as the plan's own members)
    assumptions = serializers.ListField(child=serializers.CharField())
    digest = serializers.CharField(allow_null=True)
    signature = serializers.ChoiceField(choices=PlanSubmission.Signature.choices)
    profile = serializers.ChoiceField(choices=PROFILES)
    judgedAt = serializers.DateTimeField()  # noqa: N815  (as the plan's own members)
    timeline = serializers.DictField(allow_null=True)
    counterexample = serializers.DictField(allow_null=True)


class PlanSerializer(serializers.ModelSerializer[PlanSubmission]):
    """A plan that was proposed."""

    owner = serializers.CharField(source="owner.get_username")
    agent = serializers.CharField(source="agent.name", allow_null=True, default=None, help_text="null: a person's own")

    class Meta:
        model = PlanSubmission
        fields = (
            *("id", "owner", "agent", "saga", "version", "author", "accepted", "digest", "body_sha256"),
            *("signature", "profile", "judged_at"),
        )


class PlanDetailSerializer(PlanSerializer):
    """A plan with what was found and its exact text."""

    violations = RemarkSerializer(many=True)
    warnings = RemarkSerializer(many=True)
    text = serializers.SerializerMethodField(help_text="the exact bytes, where they are UTF-8")

    class Meta:
        model = PlanSubmission
        fields = (*PlanSerializer.Meta.fields, "violations", "warnings", "text")

    def get_text(self, row: PlanSubmission) -> str:
        """Return the plan as it was sent."""
        return bytes(row.body).decode(errors="backslashreplace")


class ProfileSerializer(serializers.Serializer[Any]):
    """How strictly to judge."""

    profile = serializers.ChoiceField(choices=PROFILES, default="default")


_PLAN = {"application/json": schema.inlined()}
_ANYTHING = {"application/json": {"description": "A plan; what keeps it from being one is in the answer."}}
_PROFILE = OpenApiParameter("profile", str, enum=PROFILES, description="strict: warnings refuse, too")


def _bytes(request: Request) -> bytes:
    return request.data or b""  # type: ignore[return-value]  # DRF hands on what the parser returned, or nothing


def _profile(request: Request) -> Any:
    asked = ProfileSerializer(data=request.query_params.dict())
    asked.is_valid(raise_exception=True)
    return asked.validated_data["profile"]


class Validate(APIView):
    """The verdict on a plan that is not kept."""

    parser_classes = (PlanParser,)

    @does(_ANYTHING, {200: PlanVerdictSerializer}, parameters=[_PROFILE])
    def post(self, request: Request) -> Response:
        """Judge a plan and keep nothing."""
        now = timezone.now()  # noqa: TID251  (a view is a face)
        return Response(report.as_json(judge(body=_bytes(request), now=now, profile=_profile(request))))


class Plans(Listing):
    """The plans that were proposed."""

    queryset = PlanSubmission.objects.all()
    serializer_class = PlanSerializer
    parser_classes = (PlanParser,)

    def rows(self, by: Actor) -> QuerySet[PlanSubmission]:
        """Return the plans that this asker may see."""
        return queries.listed(by)

    @does(_PLAN, {200: PlanDetailSerializer, 201: PlanDetailSerializer}, 413, 422, parameters=[_PROFILE])
    def post(self, request: Request) -> Response:
        """Propose a plan: 201 accepted, 422 refused; both are kept."""
        by, now = request.actor, timezone.now()  # type: ignore[attr-defined]  # noqa: TID251  (a view is a face; TablePermission says who asks)
        row, new = submit(body=_bytes(request), by=by, now=now, profile=_profile(request))
        if not row.accepted:
            raise PlanRefusedError(row)
        headers = {"Location": reverse("api-plan", args=[row.pk])}
        return Response(PlanDetailSerializer(row).data, status=201 if new else 200, headers=headers)


class OnePlan(APIView):
    """One plan."""

    @reads(PlanDetailSerializer)
    def get(self, request: Request, plan: UUID) -> Response:
        """Return a plan with what was found and its exact text."""
        row = queries.plan(key=plan, by=request.actor)  # type: ignore[attr-defined]  # (TablePermission sets it)
        return Response(PlanDetailSerializer(row).data)
