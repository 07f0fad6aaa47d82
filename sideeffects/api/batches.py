"""How are many calls taken back, or brought back, by one asking?"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import django_filters as df
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_202_ACCEPTED as ACCEPTED
from rest_framework.views import APIView

from sideeffects import batches
from sideeffects.actors import Actor
from sideeffects.api.batch_shapes import (
    KEY,
    LOCATION,
    REPLAYED,
    BatchBody,
    BatchItemSerializer,
    BatchPageSerializer,
    BatchSerializer,
    PreviewSerializer,
)
from sideeffects.api.bodies import ReasonBody
from sideeffects.api.lists import Listing
from sideeffects.api.schema import does, reads
from sideeffects.api.strict import idempotency_key
from sideeffects.batches import sheets
from sideeffects.batches.sheets import Sheet
from sideeffects.models import Batch, BatchItem
from sideeffects.services import batch as service
from sideeffects.transitions import Outcome


class BatchFilter(df.FilterSet):  # type: ignore[misc]  # (django-filter ships no types)
    """Which batches: what they do, and whether they work."""

    kind = df.ChoiceFilter(choices=Batch.Kind.choices)
    state = df.ChoiceFilter(choices=Batch.State.choices)

    class Meta:
        model = Batch
        fields = ()


class ItemFilter(df.FilterSet):  # type: ignore[misc]  # (django-filter ships no types)
    """Which items: those with one outcome."""

    outcome = df.ChoiceFilter(choices=[(item.value, item.value) for item in Outcome], method="came_to")

    class Meta:
        model = BatchItem
        fields = ()

    def came_to(self, rows: Any, _name: str, value: str) -> Any:
        """Narrow to what stands so by now."""
        return batches.came_to(rows, value)


class Batches(Listing):
    """Askings about many calls, newest first."""

    serializer_class = BatchSerializer
    filterset_class = BatchFilter
    queryset = Batch.objects.all()

    def rows(self, by: Actor) -> Any:
        """Return the batches this asker may see."""
        return batches.visible(by).select_related("user", "agent")

    @does(
        BatchBody,
        {200: PreviewSerializer, 202: BatchPageSerializer},
        *(404, 409, 422, 429),
        parameters=[KEY, REPLAYED, LOCATION],
    )
    def post(self, request: Request) -> Response:
        """Have many calls taken back, once for its key, or say what that would come to: `dry_run`."""
        body = BatchBody(data=request.data)
        body.is_valid(raise_exception=True)
        key, by, now = idempotency_key(request), request.actor, timezone.now()  # type: ignore[attr-defined]  # noqa: TID251  (a face; TablePermission sets who asks)
        if body.validated_data["dry_run"]:
            return Response(PreviewSerializer(batches.preview(scope=body.scope, by=by, now=now)).data)
        row = service.start(**body.asked(key), by=by, now=now)
        replayed = {} if row.asked_at == now else {"Idempotency-Replayed": "true"}
        return accepted(row, by, replayed)


class OneBatch(APIView):
    """One batch."""

    @reads(BatchPageSerializer)
    def get(self, request: Request, batch: UUID) -> Response:
        """Return it with its numbers as of now."""
        actor: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
        return Response(page_of(batches.one(batch, actor), actor))


class Items(Listing):
    """What came of each call of a batch, in the order of work."""

    serializer_class = BatchItemSerializer
    filterset_class = ItemFilter
    queryset = BatchItem.objects.all()

    def order(self, _request: Request) -> str:
        """Return the order of work."""
        return "position"

    def rows(self, by: Actor) -> Any:
        """Return the items of this batch, if this asker may see it."""
        return batches.items(batches.one(self.kwargs["batch"], by))

    def shown(self, rows: Sequence[Any], by: Actor) -> Sequence[Any]:
        """Return them with what their calls did, and where these stand."""
        return sheets.lines_of(rows, by=by)


class Stop(APIView):
    """The stopping of a batch."""

    @does(ReasonBody, {200: BatchPageSerializer}, 409, 422)
    def post(self, request: Request, batch: UUID) -> Response:
        """Stop it after the chunk it is at; what is done stays done. Repeated, it stays stopped."""
        return asked(request, batch, service.stop)


class Resume(APIView):
    """The going on of a batch."""

    @does(ReasonBody, {200: BatchPageSerializer}, 409, 422)
    def post(self, request: Request, batch: UUID) -> Response:
        """Let a stopped batch go on where it was."""
        return asked(request, batch, service.resume)


class RetryBatch(APIView):
    """One more try of what failed."""

    @does(ReasonBody, {200: BatchPageSerializer}, 409, 422)
    def post(self, request: Request, batch: UUID) -> Response:
        """Try again what failed or was skipped for a reason that may have passed."""
        return asked(request, batch, service.retry)


class RestoreBatch(APIView):
    """The bringing back of what a batch revoked."""

    @does(ReasonBody, {202: BatchPageSerializer}, 409, 422, parameters=[LOCATION])
    def post(self, request: Request, batch: UUID) -> Response:
        """Bring back exactly what this batch removed and nobody has restored, by a batch of its own."""
        return asked(request, batch, service.restore, status=ACCEPTED)


def asked(request: Request, batch: UUID, verb: Callable[..., Batch], *, status: int = 200) -> Response:
    """Ask a service about one batch and answer how it stands."""
    body = ReasonBody(data=request.data)
    body.is_valid(raise_exception=True)
    by: Actor = request.actor  # type: ignore[attr-defined]  # (TablePermission sets it)
    row = verb(batch=batch, by=by, now=timezone.now(), **body.validated_data)  # noqa: TID251  (a face)
    return accepted(row, by) if status == ACCEPTED else Response(page_of(row, by))


def accepted(row: Batch, by: Actor, headers: dict[str, str] | None = None) -> Response:
    """Answer that a batch will be worked, and where to look."""
    page = page_of(row, by)
    return Response(page, ACCEPTED, headers={"Location": page["url"], **(headers or {})})


def page_of(row: Batch, by: Actor) -> Any:
    """Return a batch as its own address shows it."""
    sheet = Sheet(row, by, timezone.now())  # noqa: TID251  (a face)
    return BatchPageSerializer(row, context={"sheet": sheet}).data
