"""What was asked of targets, how far has that got, and what does a person decide about it?"""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sideeffects import actors, policies, queries
from sideeffects.api.bodies import ReasonBody
from sideeffects.api.schema import does, reads
from sideeffects.api.shapes import Shape, one_of
from sideeffects.api.strict import Strict, Text
from sideeffects.models import Attempt
from sideeffects.models import Request as Row
from sideeffects.services import again, attest, reconcile
from sideeffects.transitions import EffectState

if TYPE_CHECKING:
    from django.http import HttpRequest

    from sideeffects.actors import Actor


class AttemptSerializer(Shape):
    """One HTTP try."""

    number = serializers.IntegerField()
    purpose = one_of(Attempt.Purpose)
    jti = serializers.UUIDField(help_text="the token's id, as it stands on the log")
    kid = serializers.CharField(help_text="the key that signed it")
    method = serializers.CharField()
    path = serializers.CharField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    kind = serializers.CharField(help_text="not left, answered, no answer; empty while it runs")
    status = serializers.IntegerField(allow_null=True)
    detail = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 of the answer's body")
    excerpt = serializers.SerializerMethodField(help_text="how the answer begins; for admins only, else empty")

    def get_excerpt(self, attempt: Attempt) -> str:
        """Return the beginning of the answer to an admin."""
        return attempt.excerpt if self.context["by"].is_admin else ""


class CallbackSerializer(Shape):
    """A word that the target sent by itself."""

    webhook_id = serializers.CharField()
    said = serializers.ChoiceField(["done", "failed", "pending"])
    reason = serializers.CharField(help_text="the target's words")
    at = serializers.DateTimeField(help_text="by the target's clock")
    heard_at = serializers.DateTimeField()
    applied = serializers.BooleanField(help_text="false: an older word, or one that no arrow takes; it changed nothing")


class RequestSerializer(Shape):
    """What is asked of a target about one effect."""

    id = serializers.UUIDField(source="pk", help_text="also the Idempotency-Key of every try")
    url = serializers.SerializerMethodField()
    effect = serializers.UUIDField(source="effect_id")
    group = serializers.UUIDField(source="effect.group_id")
    target = serializers.CharField(source="target.name")
    current = serializers.BooleanField(help_text="false: it was refused and asked anew")
    method = serializers.CharField()
    path = serializers.CharField()
    state = one_of(EffectState)
    state_at = serializers.DateTimeField()
    detail = serializers.CharField(help_text="what came last")
    flag = serializers.CharField(help_text="redirect, elsewhere, credential, or empty: someone should look")
    asked_at = serializers.DateTimeField()
    asked_by = serializers.CharField()
    tries = serializers.IntegerField(help_text="how many reached for the target since it was last asked by a person")
    sent_at = serializers.DateTimeField(allow_null=True)
    accepted_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    next_try_at = serializers.DateTimeField(allow_null=True, help_text="null: nothing happens by itself")
    suspended_at = serializers.DateTimeField(allow_null=True, help_text="since its target changed; an admin must look")
    needs_person_since = serializers.DateTimeField(allow_null=True)
    stale_since = serializers.DateTimeField(allow_null=True)
    attested_at = serializers.DateTimeField(allow_null=True)
    attested_by = serializers.CharField()
    attested_reason = serializers.CharField()
    attested_evidence = serializers.CharField()

    def get_url(self, row: Row) -> str:
        """Return its address."""
        return reverse("api-request", args=[row.pk])


class RequestPageSerializer(RequestSerializer):
    """A request with every try and every word."""

    attempts = serializers.SerializerMethodField()
    callbacks = CallbackSerializer(many=True)

    @extend_schema_field(AttemptSerializer(many=True))
    def get_attempts(self, row: Row) -> Any:
        """Return every try in order."""
        return AttemptSerializer(row.attempts.all(), many=True, context=self.context).data


class AttestBody(Strict):
    """A person's word for what became of an object in a target."""

    reason = serializers.ChoiceField([item.value for item in attest.Reason])
    evidence = Text(max_length=10_000, help_text="What your word rests on.")


class OneRequest(APIView):
    """One request to a target."""

    @reads(RequestPageSerializer)
    def get(self, request: Request, row: UUID) -> Response:
        """Return it with every try and every word."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        found = get_object_or_404(queries.requests_of(policies.visible_groups(actor)), pk=row)
        return Response(RequestPageSerializer(found, context={"by": actor}).data)


class Retry(APIView):
    """The asking once more of a target."""

    @does(ReasonBody, {200: RequestSerializer}, 409, 422)
    def post(self, request: Request, row: UUID) -> Response:
        """Ask again about what was refused or is not known to have arrived; returns the request that goes on."""
        body = ReasonBody(data=request.data)
        body.is_valid(raise_exception=True)
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        [new] = again.again(requests=[row], by=actor, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
        return Response(RequestSerializer(new).data)


class Attest(APIView):
    """A person's word, with evidence."""

    @does(AttestBody, {200: RequestSerializer}, 409, 422)
    def post(self, request: Request, row: UUID) -> Response:
        """Hold the object for undone on your word; it is never shown as the target's."""
        body = AttestBody(data=request.data)
        body.is_valid(raise_exception=True)
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        [new] = attest.attest(requests=[row], by=actor, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
        return Response(RequestSerializer(new).data)


class CallbackBody(serializers.Serializer[Any]):
    """What a target's signed word holds."""

    request = serializers.CharField(help_text="The Idempotency-Key it is about.")
    status = serializers.CharField(help_text="done, failed or pending.")
    at = serializers.DateTimeField(help_text="When that became so, by the target's clock.")
    reason = serializers.CharField(required=False)


class Callbacks(APIView):
    """Where targets say by themselves how a request stands, signed as Standard Webhooks has it."""

    authentication_classes = ()  # its signature is its credential

    @does(CallbackBody, {200: CallbackSerializer}, 409)
    def post(self, request: Request, target: str) -> Response:
        """Take a signed word: `{"request": Idempotency-Key, "status": done│failed│pending, "at": time, "reason"?}`."""
        raw: HttpRequest = request._request  # noqa: SLF001  (the signature is over the bytes, so no parser may come first)
        heard = reconcile.hear(
            target=target,
            headers=dict(raw.headers),
            body=raw.body,
            by=actors.system(f"callback of {target}"[:100]),
            now=timezone.now(),  # noqa: TID251  (a face)
        )
        return Response(CallbackSerializer(heard).data)
