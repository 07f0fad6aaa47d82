"""What is there to see, for whom? Every read of this app's rows that more than one face needs."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sideeffects.models import Declaration, Effect


def open_conflicts(groups: Iterable[Any]) -> set[UUID]:
    """Return which of the groups have a declaration that nobody has decided about."""
    rows = Declaration.objects.filter(group__in=list(groups), held=False, resolved_at=None)
    return set(rows.values_list("group_id", flat=True))


def members_of(groups: Sequence[Any]) -> dict[UUID, list[Effect]]:
    """Return the members of each group, principal first, in one query."""
    members: dict[UUID, list[Effect]] = {getattr(group, "pk", group): [] for group in groups}
    for effect in Effect.objects.filter(group__in=list(members)).select_related("target").order_by("group", "position"):
        members[effect.group_id].append(effect)
    return members
