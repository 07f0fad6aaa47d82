"""Work the batches that are at work, chunk by chunk: each chunk one transaction, so that nothing is ever done twice."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import ngettext

from audit import log
from sideeffects import actors, queries, setwise
from sideeffects.actors import Actor
from sideeffects.batches import counts
from sideeffects.models import Batch, BatchItem, Group, Revocation
from sideeffects.policies import Authority
from sideeffects.services import batch_outcome as outcome
from sideeffects.services import refuse
from sideeffects.services.answers import Result
from sideeffects.services.batch_decide import halt
from sideeffects.services.batch_start import entry
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.retry import BusyError, retried
from sideeffects.services.revoke import revoke
from sideeffects.services.since import DependedOnError
from sideeffects.services.tokens import is_alive
from sideeffects.services.told import announce
from sideeffects.transitions import Outcome

logger = logging.getLogger(__name__)

GROUPS, MEMBERS = 500, 2_000  # at most in one chunk: a person who stops a batch waits for one
RESTORED = 50  # groups brought back in one chunk: what something stands in the way of costs statements of its own

OF_A_ROW = (IntegrityError, DataError)
SAID = ("outcome", "detail", "refusal", "worked_at")


class BatchVoidError(Exception):
    """Whoever asked for the batch could not ask for it now, so nothing more of it is done."""


def work(*, by: Actor, clock: Callable[[], datetime], until: datetime | None = None) -> int:
    """Work every batch that is at work, in turns of one chunk, until nothing is left or `until`; return how many items.

    Each chunk is its own transaction and goes as whoever asked, as they are by then; a batch that another works is
    left to it. Writes `COMPENSATE` or `restored` for each group, `revoke_refused` or `restore_refused`, and
    `batch_finished` or `batch_stopped`.
    """
    done, resting = 0, set[UUID]()
    while turns := [key for key in _at_work() if key not in resting]:
        for key in turns:
            now = clock()
            if until is not None and now >= until:
                return done
            worked = _turn(key, by=by, now=now)
            done += worked
            if not worked:
                resting.add(key)
    return done


def _at_work() -> list[UUID]:
    return list(Batch.objects.filter(state=Batch.State.WORKING).order_by("pk").values_list("pk", flat=True))


def _turn(key: UUID, *, by: Actor, now: datetime) -> int:
    """Work one chunk; where that fails for no reason that is foreseen, a smaller one, until what fails stands alone."""
    size = GROUPS
    while True:
        try:
            return retried(partial(chunk, key, size, by=by, now=now))
        except BusyError:
            return 0  # the next sweep finds it
        except Exception as error:  # noqa: BLE001  (whatever fails for one is said of that one; its neighbours go on)
            logger.error("a chunk failed: %s", type(error).__name__)  # noqa: TRY400  (its text may hold anything)
            if isinstance(error, (DatabaseError, InterfaceError)) and not isinstance(error, OF_A_ROW):
                return 0  # likewise: the database refuses to be asked, not what was written
            if size == 1:
                return _give_up(key, error, by=by, now=now)
        size //= 2


def chunk(key: UUID, size: int, *, by: Actor, now: datetime) -> int:
    """Work at most so many of the items whose turn it is, or come to the end; return how many that were.

    One transaction: what becomes of the groups, their records, and that their turn is over.
    """
    with transaction.atomic():
        batch = _locked(key)
        if batch is None:
            return 0
        items = _next(batch, size)
        if not items:
            _finish(batch, by=by, now=now)
            return 0
        try:
            who = _who(batch, now=now)
        except BatchVoidError as error:
            halt(batch, why=str(error), by=by, now=now)
            about = ngettext("{kind} of {n} action", "{kind} of {n} actions", batch.groups)
            about = about.format(kind=batch.kind, n=batch.groups)
            announce(owner=batch.user, kind="batch stopped", about=about, detail=str(error), now=now)
            return 0
        act = _restore if batch.kind == Batch.Kind.RESTORE else _revoke
        act(batch, items, by=who, now=now)
    return len(items)


def _locked(key: UUID) -> Batch | None:
    """Lock a batch that is at work; None where another works it now, or somebody stopped it."""
    rows = Batch.objects.select_for_update(of=("self",), skip_locked=True)
    return rows.select_related("user", "token__agent", "token__owner").filter(pk=key, state=Batch.State.WORKING).first()


def _next(batch: Batch, size: int) -> list[BatchItem]:
    """Return the items whose turn it is, at most so many and with not too many members, but one at least."""
    most = min(size, RESTORED) if batch.kind == Batch.Kind.RESTORE else size
    waiting = BatchItem.objects.filter(batch=batch, outcome=Outcome.NOT_ATTEMPTED).order_by("position")
    items: list[BatchItem] = []
    members = 0
    for item in waiting[:most]:
        members += item.members
        if items and members > MEMBERS:
            break
        items.append(item)
    return items


def _who(batch: Batch, *, now: datetime) -> Actor:
    """Return whoever asked as they are now, roles read anew; raises BatchVoidError."""
    if batch.agent_id is not None:
        if batch.token is None or not is_alive(batch.token, now):
            raise BatchVoidError("The token of the agent that asked for this has ended or was withdrawn.")
        return actors.agent(batch.token)
    if not batch.user.is_active:
        raise BatchVoidError("The account of whoever asked for this is closed.")
    who = actors.person(batch.user)
    if batch.authority == Authority.ADMIN and not who.is_admin:
        raise BatchVoidError("It was asked for as an admin; whoever asked is not that any more.")
    return who


def _revoke(batch: Batch, items: Sequence[BatchItem], *, by: Actor, now: datetime) -> None:
    results = revoke(
        groups=[item.group_id for item in items],
        by=by,
        now=now,
        reason=batch.reason,
        trigger=Trigger.BATCH,
        leave_later=batch.leave_later,
        batch=batch.pk,
    )
    put_off = _put_off(batch, items, results)
    plain, others = [], []
    for item, result in zip(items, results, strict=True):
        if item.pk in put_off:
            item.position += batch.groups
            others.append(item)
            continue
        made = result.answer.revocation if result.answer else None
        if outcome.is_plain(result):
            item.revocation_id = made
            plain.append(item)
        else:
            outcome.of_revoke(item, result, now=now)
            # What was put in the trash by an earlier try of this batch is what a restore of it would bring back.
            item.revocation_id = item.revocation_id or made
            others.append(item)
    _write(plain, others, now=now)


def _put_off(batch: Batch, items: Sequence[BatchItem], results: Sequence[Result]) -> set[int]:
    """Return the items whose turn comes once more, at the end: what builds on them is of this batch and waits, too."""
    built_on = {
        item.pk: {UUID(str(later["group"])) for later in result.refusal.later}
        for item, result in zip(items, results, strict=True)
        if isinstance(result.refusal, DependedOnError) and item.position < batch.groups
    }
    if not built_on:
        return set()
    later = set[UUID]().union(*built_on.values()) - {item.group_id for item in items}
    rows = BatchItem.objects.filter(batch=batch, outcome=Outcome.NOT_ATTEMPTED, group__in=later)
    waiting = set(rows.values_list("group_id", flat=True))
    return {key for key, groups in built_on.items() if groups & waiting}


def _write(plain: Sequence[BatchItem], others: Sequence[BatchItem], *, now: datetime) -> None:
    """Keep what became of the items: one statement for those of which everything was taken back, one for the rest."""
    if plain:
        setwise.update(
            BatchItem,
            same={"outcome": Outcome.REVOKED.value, "worked_at": now},
            each={"id": [item.pk for item in plain], "revocation_id": [item.revocation_id for item in plain]},
        )
    if others:
        BatchItem.objects.bulk_update(others, [*SAID, "revocation", "position"])


def _update(items: Sequence[BatchItem], **values: Any) -> None:
    if items:
        BatchItem.objects.filter(pk__in=[item.pk for item in items]).update(**values)


def _restore(batch: Batch, items: Sequence[BatchItem], *, by: Actor, now: datetime) -> None:
    newest = _newest(items)
    ready = [item for item in items if newest.get(item.group_id, item.revocation_id) == item.revocation_id]
    asked = [item.group_id for item in ready]
    results = restore(groups=asked, by=by, now=now, reason=batch.reason, batch=batch.pk)
    for item, result in zip(ready, results, strict=True):
        outcome.of_restore(item, result, now=now)
    for item in items:
        if item.worked_at is None:
            outcome.revoked_since(item, now=now)
    plain = [item for item in ready if item.outcome == Outcome.RESTORED and not item.detail]
    _update(plain, outcome=Outcome.RESTORED.value, worked_at=now)
    done = {item.pk for item in plain}
    if others := [item for item in items if item.pk not in done]:
        BatchItem.objects.bulk_update(others, SAID)


def _newest(items: Sequence[BatchItem]) -> dict[UUID, UUID]:
    """Lock the groups, and return by which revocation each has something in the trash last."""
    ids = [item.group_id for item in items]
    list(Group.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk").values_list("pk"))
    asked = Revocation.objects.filter(group__in=ids).order_by("pk")
    standing = asked.filter(Exists(queries.lying_by(OuterRef("pk"), group=OuterRef("group"))))
    return dict(standing.values_list("group", "pk"))


def _finish(batch: Batch, *, by: Actor, now: datetime) -> None:
    batch.state, batch.state_at, batch.state_by, batch.why = Batch.State.FINISHED, now, str(by.party), ""
    batch.save(update_fields=["state", "state_at", "state_by", "why"])
    came = counts.totals(batch, now=now)
    data = {
        "kind": batch.kind,
        "groups": came.groups,
        "effects": came.effects,
        "asked_outside": came.asked_outside,
    }
    log.append([entry("batch_finished", batch, data, by=by)], now=now)


def _give_up(key: UUID, error: Exception, *, by: Actor, now: datetime) -> int:
    """Say of the one item that cannot be worked that it failed, so that those behind it have their turn."""
    with transaction.atomic():
        batch = _locked(key)
        items = _next(batch, 1) if batch else []
        for item in items:
            outcome.failed(item, error, now=now)
            result = Result(item.group_id, refusal=error)
            action = "restore_refused" if batch and batch.kind == Batch.Kind.RESTORE else "revoke_refused"
            refuse.log_refusals([result], action=action, by=by, now=now, reason="")
        BatchItem.objects.bulk_update(items, SAID)
    return len(items)
