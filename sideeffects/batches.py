"""Which batches are there, what is in them, and what landed in their scope since?"""

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from sideeffects.actors import Actor
from sideeffects.batchpreview import Preview, preview
from sideeffects.batchscope import EmptyScopeError, Scope
from sideeffects.batchtotals import Totals, totals
from sideeffects.models import Batch, BatchItem, Group
from sideeffects.policies import NotFoundError
from sideeffects.transitions import GroupState

__all__ = [
    "EmptyScopeError",
    "Preview",
    "Scope",
    "Totals",
    "items",
    "landed_since",
    "one",
    "preview",
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
    """Return the actions of a batch in the order of their turns, all or those that were answered so."""
    rows = BatchItem.objects.filter(batch=batch).select_related("group__owner", "group__tool_version", "revocation")
    return (rows.filter(outcome=outcome) if outcome else rows).order_by("position")


def landed_since(batch: Batch, *, by: Actor) -> QuerySet[Group]:
    """Return what has landed in the scope of a batch since it was frozen: it is no part of it."""
    if batch.kind == Batch.Kind.RESTORE:
        return Group.objects.none()
    part = BatchItem.objects.filter(batch=batch, group=OuterRef("pk"))
    rows = Scope.from_json(batch.scope).groups_for(by).filter(~Exists(part), state=GroupState.LANDED)
    return rows.select_related("owner", "agent", "tool_version").order_by("-pk")
