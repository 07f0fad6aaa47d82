"""Which rows stand on one page of a list? Keyset pages: no page costs more because it is further back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
PAGE = 25


@dataclass(frozen=True)
class Cursor:
    """Where a page begins: below one key or next above another; `is_readable` is false for what is no key of ours."""

    before: UUID | None = None
    after: UUID | None = None
    is_readable: bool = True

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> Self:
        """Return the cursor that an address names."""
        try:
            before, after = (UUID(query[name]) if query.get(name) else None for name in ("before", "after"))
        except ValueError:
            return cls(is_readable=False)
        return cls(before, after)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Some rows of a list, newest first; `older` and `newer` are the keys where the neighbouring pages begin."""

    rows: list[Row]
    older: Any = None
    newer: Any = None


def newest_first(rows: QuerySet[Row], cursor: Cursor, *, size: int = PAGE) -> Page[Row]:
    """Return the page of rows that the cursor asks for, else the newest."""
    if not cursor.is_readable:
        return Page([])
    if cursor.after is not None:
        found = list(rows.filter(pk__gt=cursor.after).order_by("pk")[: size + 1])
        shown = found[:size][::-1]
        return Page(shown, older=shown[-1].pk if shown else None, newer=shown[0].pk if len(found) > size else None)
    below = rows if cursor.before is None else rows.filter(pk__lt=cursor.before)
    found = list(below.order_by("-pk")[: size + 1])
    shown = found[:size]
    older = shown[-1].pk if len(found) > size else None
    return Page(shown, older=older, newer=shown[0].pk if shown and cursor.before is not None else None)
