"""Which batches are there, what is in them, and what landed in their scope since?"""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from sideeffects.actors import Actor
from sideeffects.batches import counts
from sideeffects.batches.counts import Totals, totals
from sideeffects.batches.forecast import Preview, preview
from sideeffects.batches.scope import EmptyScopeError, Scope
from sideeffects.models import Batch, BatchItem, Group
from sideeffects.policies import NotFoundError
from sideeffects.transitions import WEAKEST_FIRST, GroupState, Outcome

__all__ = [
    "EmptyScopeError",
    "Preview",
    "Scope",
    "Totals",
    "came_to",
    "items",
    "landed_since",
    "one",
    "preview",
    "stands",
    "totals",
    "visible",
]


def visible(by: Actor) -> QuerySet[Batch]:
    """Return the batches that this asker may see, newest first: one's own askings; an admin sees all."""
    rows = Batch.objects.select_related("user", "agent", "of").order_by("-pk")
    if by.is_admin:
        return rows
    own = rows.filter(user=by.user) if by.user is not None else rows.none()
    return own if by.token is None else own.filter(agent=by.token.agent_id)


def one(key: UUID, by: Actor) -> Batch:
    """Return one batch; raises NotFoundError."""
    found = visible(by).filter(pk=key).first()
    if found is None:
        raise NotFoundError("batch", str(key))
    return found


def items(batch: Batch, outcome: str | None = None) -> QuerySet[BatchItem]:
    """Return the actions of a batch in the order of their turns, all or those that stand so by now."""
    rows: QuerySet[BatchItem] = counts.ranked(BatchItem.objects.filter(batch=batch), batch.kind)
    named = rows.select_related("group__owner", "group__agent", "group__tool_version", "revocation")
    return (came_to(named, outcome) if outcome else named).order_by("position")


def came_to(rows: QuerySet[BatchItem], outcome: str) -> QuerySet[BatchItem]:
    """Return those of the items that stand so by now, as the totals count them."""
    return rows.filter(Q(("rank", counts.rank_of(outcome))))  # (a pair: `items` annotates it)


def stands(item: BatchItem) -> Outcome:
    """Return how one of these items stands by now."""
    rank: int = item.rank  # type: ignore[attr-defined]  # (`items` annotates it)
    return WEAKEST_FIRST[rank]


def landed_since(batch: Batch, *, by: Actor) -> QuerySet[Group]:
    """Return what has landed in the scope of a batch since it was frozen: it is no part of it."""
    if batch.kind == Batch.Kind.RESTORE:
        return Group.objects.none()
    part = BatchItem.objects.filter(batch=batch, group=OuterRef("pk"))
    rows = Scope.from_json(batch.scope).groups_for(by).filter(~Exists(part), state=GroupState.LANDED)
    return rows.select_related("owner", "agent", "tool_version").order_by("-pk")
