"""How does a program take the proof home?"""

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit import export, filters

_REFUSED = {
    (409, "application/problem+json"): OpenApiResponse(OpenApiTypes.OBJECT, description="No checkpoint covers it yet.")
}
_RECEIPT = {(200, "text/plain"): OpenApiTypes.STR, (200, "application/zip"): OpenApiTypes.BINARY, **_REFUSED}
_EXPORT = {(200, "application/x-ndjson"): OpenApiTypes.STR, (200, "text/csv"): OpenApiTypes.STR, **_REFUSED}
_ASKED = [OpenApiParameter("form", str, enum=filters.FORMS), OpenApiParameter("type", str), OpenApiParameter("id", str)]


class CheckpointSerializer(serializers.Serializer[Any]):
    """A signed head of the log; keep `checkpoint` and `key` where this server cannot reach them."""

    origin = serializers.CharField(help_text="the log and its epoch")
    size = serializers.IntegerField(help_text="how many records it covers")
    checkpoint = serializers.CharField(source="note", help_text="the signed note (C2SP tlog-checkpoint)")
    key = serializers.CharField(help_text="the public key it was signed by; trust it only from elsewhere")
    published_at = serializers.DateTimeField()


class Receipt(APIView):
    """The proof that a record is on the log, to be checked anywhere."""

    @extend_schema(responses=_RECEIPT)
    def get(self, _request: Request, uid: UUID) -> StreamingHttpResponse:
        """Return the receipt: a `.tlog-proof`, or a zip of them where the record was cut into parts."""
        return _download(export.receipt(uid))


class Checkpoint(APIView):
    """The last signed head of the log."""

    @extend_schema(responses={200: CheckpointSerializer, **_REFUSED})
    def get(self, _request: Request) -> Response:
        """Return the last checkpoint."""
        return Response(CheckpointSerializer(export.last_checkpoint()).data)


class Export(APIView):
    """All that the last checkpoint covers, or what speaks of one object; that it was given out is recorded."""

    @extend_schema(parameters=_ASKED, responses=_EXPORT)
    def get(self, request: Request) -> StreamingHttpResponse:
        """Return NDJSON, line k being leaf k and the last one the checkpoint; `form=csv` is a table without proof."""
        form, about = filters.read_export(request.query_params.dict())
        by = request.actor.party  # type: ignore[attr-defined]  # (config.access sets who asks)
        return _download(export.export_for(by=by, now=timezone.now(), form=form, about=about))  # noqa: TID251  (a face)


def _download(file: export.File) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingHttpResponse(file.chunks, content_type=file.type, headers=headers)
