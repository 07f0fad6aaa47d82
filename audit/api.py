"""How does a program look into the log?"""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit import chain, filters, presenters, queries
from audit.verify import verify

VERIFY_SECONDS = 20  # a request answers before a proxy gives up; the command has no limit


class _Object(serializers.Serializer[Any]):
    type = serializers.CharField()
    id = serializers.CharField()


class RecordSerializer(serializers.Serializer[queries.Found]):
    """One record of a list."""

    uid = serializers.UUIDField(source="record.uid")
    seq = serializers.IntegerField(allow_null=True, help_text="its place; null while it is unsealed")
    sealed = serializers.SerializerMethodField()
    action = serializers.CharField(source="record.action")
    outcome = serializers.CharField(source="record.outcome")
    target = serializers.SerializerMethodField()
    group = serializers.CharField(source="record.group")
    actor = serializers.CharField(source="record.actor")
    owner = serializers.CharField(source="record.owner")
    occurred_at = serializers.SerializerMethodField()
    leaf_hash = serializers.CharField(source="record.leaf_hash")

    def get_sealed(self, found: queries.Found) -> bool:
        """Say whether it has a place."""
        return found.seq is not None

    @extend_schema(responses=_Object)
    def get_target(self, found: queries.Found) -> dict[str, str]:
        """Return the principal."""
        return {"type": found.record.target_type, "id": found.record.target_id}

    def get_occurred_at(self, found: queries.Found) -> str:
        """Return the time in the form the body holds."""
        return chain.time_text(found.record.occurred_at)


class RecordDetailSerializer(RecordSerializer):
    """One record with its bytes: SHA-256 of 0x00 and `body` is `leaf_hash`."""

    chain = serializers.CharField(allow_null=True, help_text="null while it is unsealed")
    sentence = serializers.SerializerMethodField()
    subjects = serializers.SerializerMethodField()
    body = serializers.CharField(source="record.body", help_text="the exact canonical text that was hashed")

    def get_sentence(self, found: queries.Found) -> str:
        """Return what it says, for people."""
        return presenters.line(found).sentence

    def get_subjects(self, found: queries.Found) -> list[dict[str, str]]:
        """Return every object it is found by."""
        return [{"type": type_, "id": id_} for type_, id_ in queries.subjects(found.record)]


class VerdictSerializer(serializers.Serializer[Any]):
    """What verifying found out; `kind`, `seq`, `uid` name the first bad record where the log is broken."""

    log = serializers.CharField()
    verdict = serializers.ChoiceField(choices=["verified", "consistent", "broken", "cannot tell"])
    detail = serializers.CharField()
    size = serializers.IntegerField()
    checked = serializers.IntegerField()
    since = serializers.IntegerField(help_text="records before this place were taken from a checkpoint, not read again")
    head = serializers.CharField(help_text="the chain value after the last good record")
    tree_root = serializers.CharField(help_text="the root of the tree (RFC 6962) above the good records")
    covered = serializers.IntegerField(help_text="how many records the checkpoint covers that this was held against")
    unprotected = serializers.IntegerField(help_text="records that no checkpoint covers, unsealed ones included")
    kind = serializers.CharField(allow_null=True)
    seq = serializers.IntegerField(allow_null=True)
    uid = serializers.CharField(allow_null=True)
    unsealed = serializers.IntegerField()
    oldest_unsealed_seconds = serializers.IntegerField(allow_null=True)


class PageSerializer(serializers.Serializer[Any]):
    """One page; `searched_to` is a place where the search stopped looking, to go on with `next`."""

    next = serializers.CharField(allow_null=True)
    searched_to = serializers.IntegerField(allow_null=True)
    results = RecordSerializer(many=True)


_PARAMETERS = [
    OpenApiParameter(name, str)
    for name in ("type", "id", "actor", "owner", "action", "outcome", "group", "since", "until", "cursor")
]


class Records(APIView):
    """The log's records: unsealed ones first, then newest place first."""

    @extend_schema(operation_id="audit_records_list", parameters=_PARAMETERS, responses=PageSerializer)
    def get(self, request: Request) -> Response:
        """Return one page of what meets the filters."""
        wanted, cursor = filters.read(request.query_params.dict())
        page = queries.search(wanted, cursor)
        older = presenters.address(request.query_params, page.older)
        following = request.build_absolute_uri(older) if older else None
        results = RecordSerializer(page.found, many=True).data  # type: ignore[arg-type]  # (the stubs type one)
        return Response({"next": following, "searched_to": page.searched_to, "results": results})


class OneRecord(APIView):
    """One record of the log."""

    @extend_schema(responses=RecordDetailSerializer)
    def get(self, _request: Request, uid: UUID) -> Response:
        """Return the record with its exact bytes."""
        return Response(RecordDetailSerializer(queries.record(uid)).data)


class Verify(APIView):
    """The log against itself."""

    @extend_schema(responses=VerdictSerializer)
    def get(self, _request: Request) -> Response:
        """Verify the log, for at most 20 s; a longer log is answered `cannot tell`."""
        verdict = verify(seconds=VERIFY_SECONDS)
        return Response(presenters.verdict_facts(verdict, timezone.now()))  # noqa: TID251  (a view is a face)
