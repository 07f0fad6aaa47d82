"""How is a list asked for and answered? Filters that must be meant, cursor pages, a fixed number of queries."""

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from django.db.models import QuerySet, UUIDField
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import generics, pagination, serializers
from rest_framework.request import Request

from sideeffects.actors import Actor

MOST = 100
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,18}")


class Pages(pagination.CursorPagination):
    """Pages on the key, which grows with time; no page costs more where the list is longer."""

    page_size = 50
    max_page_size = MOST
    page_size_query_param = "limit"
    page_size_query_description = f"How many, 1 to {MOST}."
    ordering = "-pk"

    def get_page_size(self, request: Request) -> int:
        """Return how many rows are wanted; raises ValidationError."""
        wanted = request.query_params.get("limit", str(self.page_size))
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) <= len(str(MOST)) and 0 < int(wanted) <= MOST):
            raise serializers.ValidationError({"limit": [f"A number from 1 to {MOST}."]})
        return int(wanted)

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        """Return the view's own order where it has one, and see what a place in this list looks like."""
        self.place = _UUID if isinstance(queryset.model._meta.pk, UUIDField) else _NUMBER
        return (getattr(view, "order", lambda _request: self.ordering)(request),)

    def decode_cursor(self, request: Request) -> pagination.Cursor | None:
        """Return where to go on; raises ValidationError for what is no place in this list."""
        sent = request.query_params.get(self.cursor_query_param)
        cursor = _cursor(sent, self.place) if sent is not None else None
        if sent is not None and cursor is None:
            raise serializers.ValidationError({self.cursor_query_param: ["This is no place in this list."]})
        return cursor

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Describe the limit as it is held to."""
        parameters = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == "limit":
                parameter["schema"] |= {"minimum": 1, "maximum": MOST, "default": self.page_size}
        return parameters


class StrictFilter(DjangoFilterBackend):  # type: ignore[misc]  # (django-filter ships no types)
    """Reads the filters, and refuses what no filter is called: it would silently narrow nothing."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> Any:
        """Return the narrowed rows; raises ValidationError naming each parameter that cannot be meant."""
        filters = view.filterset_class.base_filters if view.filterset_class else {}
        known = {*filters, "cursor", "limit"}
        wrong = {name: ["There is no such parameter."] for name in request.query_params if name not in known}
        empty = [name for name, value in request.query_params.items() if not value]
        wrong |= {name: ["Empty: leave it out to narrow nothing."] for name in empty}
        twice = [name for name, values in request.query_params.lists() if len(values) > 1]
        wrong |= {name: ["This parameter stands there more than once."] for name in twice}
        if wrong:
            raise serializers.ValidationError(wrong)
        return super().filter_queryset(request, queryset, view)


class Listing(generics.ListAPIView[Any]):
    """A list. A view of a noun says which rows there are for whoever asks, and how a page of them is shown."""

    pagination_class = Pages
    filter_backends = (StrictFilter,)
    filterset_class: Any = None
    queryset: Any = None

    def rows(self, by: Actor) -> QuerySet[Any]:
        """Return every row that this asker may see."""
        raise NotImplementedError

    def shown(self, rows: Sequence[Any], by: Actor) -> Sequence[Any]:  # noqa: ARG002  (for those who need it)
        """Return the rows of one page as they are shown to this asker."""
        return rows

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows; none while the schema is being written, when nobody asks."""
        if getattr(self, "swagger_fake_view", False):
            return self.queryset.none()  # type: ignore[no-any-return]  # (each view names its own)
        return self.rows(self.request.actor)  # type: ignore[attr-defined]  # (TablePermission sets it)

    def paginate_queryset(self, queryset: Any) -> Any:
        """Return one page as it is shown."""
        rows = super().paginate_queryset(queryset)
        return None if rows is None else self.shown(rows, self.request.actor)  # type: ignore[attr-defined]  # (as above)


def _cursor(sent: str, place: re.Pattern[str]) -> pagination.Cursor | None:
    """Return the cursor that `Pages.encode_cursor` wrote, or None; keys are unique, so there is never an offset."""
    try:
        said = dict(parse_qsl(b64decode(sent.encode("ascii"), validate=True).decode("ascii"), strict_parsing=True))
    except ValueError:  # neither ASCII, nor base64, nor a query
        return None
    known = said.keys() <= {"p", "r"} and said.get("r", "1") == "1" and place.fullmatch(said.get("p", ""))
    return pagination.Cursor(offset=0, reverse="r" in said, position=said["p"]) if known else None  # type: ignore[arg-type]  # (it is text; the stubs err)
