"""Which people, agents and tokens are there? Read only."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from sideeffects.models import AgentToken

PAGE = 50


@dataclass(frozen=True)
class Page:
    """Some rows of a list, and the key after which the older ones begin, if there are any."""

    rows: list[Any]
    before: Any = None


def named(name: str) -> Any:
    """Return the person who logs in under this name, or None; whatever the user model calls the name."""
    model = get_user_model()
    return model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()


def tokens(*, before: Any = None, owner: Any = None, size: int = PAGE) -> Page:
    """Return tokens, newest first: everyone's, or those that act for `owner`."""
    rows = AgentToken.objects.select_related("agent", "owner").order_by("-pk")
    if owner is not None:
        rows = rows.filter(owner=owner)
    return _page(rows.filter(pk__lt=before) if before else rows, size)


def everyone(*, search: str = "", before: Any = None, size: int = PAGE) -> Page:
    """Return people with their roles, newest first, those whose name holds `search`."""
    model = get_user_model()
    rows = model._default_manager.prefetch_related("takeback_roles").order_by("-pk")
    if search:
        rows = rows.filter(**{f"{model.USERNAME_FIELD}__icontains": search})
    return _page(rows.filter(pk__lt=before) if before else rows, size)


def _page(rows: QuerySet[Any], size: int) -> Page:
    found = list(rows[: size + 1])
    return Page(found[:size], found[size - 1].pk if len(found) > size else None)
