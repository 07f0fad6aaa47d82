"""Restore what a batch took back: a batch of its own, of exactly the actions that lie in the trash by it."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Subquery, Window
from django.db.models.functions import RowNumber

from sideeffects import queries
from sideeffects.actors import Actor
from sideeffects.models import Batch, BatchItem
from sideeffects.services.batch_decide import BatchAtWorkError, locked
from sideeffects.services.batch_start import begin, count, keep, new


class NothingToRestoreError(Exception):
    """Nothing lies in the trash by this batch."""

    def __init__(self, batch: Batch) -> None:
        self.batch = str(batch.pk)
        super().__init__("Nothing of what this batch took back is in the trash, so there is nothing to restore.")


def restore(*, batch: UUID, by: Actor, now: datetime, reason: str, via: str = "click") -> Batch:
    """Have what a batch took back brought back, the oldest first; while that goes on, a second asking answers it.

    Raises NotFoundError, ForPersonsOnlyError, ReasonRequiredError, BatchAtWorkError, NothingToRestoreError. Writes
    `batch_started`.
    """
    with transaction.atomic():
        row = locked(batch, by=by, action="restore")
        if going := row.restores.exclude(state=Batch.State.FINISHED).first():
            return going
        if row.state == Batch.State.WORKING:
            raise BatchAtWorkError(row, "restore")
        undoing = new(by=by, now=now, reason=reason, kind=Batch.Kind.RESTORE, of=row)
        lying = queries.lying_by(OuterRef("revocation"), group=OuterRef("group"))
        items = BatchItem.objects.filter(Exists(lying), batch=row if row.kind == Batch.Kind.REVOKE else None)
        turn = Window(RowNumber(), order_by=F("position").desc())
        size = Subquery(lying.order_by().values("revocation").annotate(n=Count("pk")).values("n"))
        keep(undoing, items, turn=turn, group=F("group_id"), size=size, undoes=F("revocation_id"))
        found = count(undoing, by=by)
        if not undoing.groups:
            raise NothingToRestoreError(row)
        begin(undoing, found, via=via, by=by, now=now)
    return undoing
