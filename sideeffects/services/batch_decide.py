"""Stop a batch between two chunks, have it go on, or have what failed in it tried again: a person's decisions."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.batches.counts import CAN_GO_AGAIN
from sideeffects.models import Batch, BatchItem
from sideeffects.services.batch_start import entry, wake_batches
from sideeffects.transitions import Outcome

State = Batch.State


class BatchAtWorkError(Exception):
    """It cannot be done while the batch is at work."""

    def __init__(self, batch: Batch, action: str) -> None:
        self.batch, self.state = str(batch.pk), batch.state
        super().__init__(f"This batch is still at work: stop it first, or wait for its end, to {action}.")


def stop(*, batch: UUID, by: Actor, now: datetime, reason: str = "") -> Batch:
    """Stop a batch after the chunk that is worked now; one that is not at work stays as it is.

    Raises NotFoundError, ForPersonsOnlyError. Writes `batch_stopped`.
    """
    with transaction.atomic():
        row = locked(batch, by=by, action="stop a batch")
        if row.state == State.WORKING:
            halt(row, why=reason.strip(), by=by, now=now)
    return row


def halt(row: Batch, *, why: str, by: Actor, now: datetime) -> None:
    """Let nothing more of a locked batch be worked. Writes `batch_stopped`."""
    _move(row, State.STOPPED, why=why, by=by, now=now)
    data = {"kind": row.kind, "waiting": _waiting(row), "reason": row.why}
    log.append([entry("batch_stopped", row, data, by=by)], now=now)


def resume(*, batch: UUID, by: Actor, now: datetime, reason: str = "") -> Batch:
    """Let a stopped batch go on where it was; one that is not stopped stays as it is.

    It goes on in the name of whoever asked for it. Raises NotFoundError, ForPersonsOnlyError. Writes `batch_resumed`.
    """
    with transaction.atomic():
        row = locked(batch, by=by, action="have a batch go on")
        if row.state != State.STOPPED:
            return row
        _move(row, State.WORKING, why="", by=by, now=now)
        data = {"kind": row.kind, "waiting": _waiting(row), "reason": reason.strip()}
        log.append([entry("batch_resumed", row, data, by=by)], now=now)
        transaction.on_commit(wake_batches, robust=True)
    return row


def retry(*, batch: UUID, by: Actor, now: datetime, reason: str = "") -> Batch:
    """Give what failed its turn again, and what was in flight, changed, built on or out of reach; else leave it so.

    Raises NotFoundError, ForPersonsOnlyError, BatchAtWorkError (another restore of the same). Writes `batch_retried`.
    """
    with transaction.atomic():
        row = locked(batch, by=by, action="try again")
        beside = Batch.objects.filter(of=row.of_id).exclude(state=State.FINISHED).exclude(pk=row.pk)
        if row.of_id and (other := beside.first()):
            raise BatchAtWorkError(other, "try again")
        failed = BatchItem.objects.filter(CAN_GO_AGAIN, batch=row)
        again = failed.update(outcome=Outcome.NOT_ATTEMPTED.value, worked_at=None, detail="", refusal="")
        if not again:
            return row
        _move(row, State.WORKING, why="", by=by, now=now)
        data = {"kind": row.kind, "again": again, "reason": reason.strip()}
        log.append([entry("batch_retried", row, data, by=by)], now=now)
        transaction.on_commit(wake_batches, robust=True)
    return row


def locked(key: UUID, *, by: Actor, action: str) -> Batch:
    """Lock a batch, behind the chunk that is worked now; raises NotFoundError, ForPersonsOnlyError."""
    row = Batch.objects.select_for_update(of=("self",)).select_related("user").filter(pk=key).first()
    if row is None:
        raise policies.NotFoundError("batch", str(key))
    policies.check_may_steer(by, row, action)
    return row


def _move(row: Batch, state: str, *, why: str, by: Actor, now: datetime) -> None:
    row.state, row.state_at, row.state_by, row.why = state, now, str(by.party), why[:500]
    row.save(update_fields=["state", "state_at", "state_by", "why"])


def _waiting(row: Batch) -> int:
    return BatchItem.objects.filter(batch=row, outcome=Outcome.NOT_ATTEMPTED).count()
