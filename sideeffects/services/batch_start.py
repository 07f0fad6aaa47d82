"""Start a batch: freeze the selection in one statement, and leave the work to whoever is woken."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import (
    CharField,
    Count,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    UUIDField,
    Value,
    Window,
)
from django.db.models.functions import Coalesce, RowNumber

from audit import log
from audit.events import Party
from audit.wake import wake
from sideeffects import policies
from sideeffects.actors import Actor, party_of
from sideeffects.batches import forecast
from sideeffects.batches.scope import Scope
from sideeffects.models import Batch, BatchItem, Effect, Group
from sideeffects.services.record import KeyReusedError
from sideeffects.transitions import Outcome

wake_batches = partial(wake, "sideeffects.work_batches")


class NothingSelectedError(Exception):
    """The scope holds nothing that this asker may take back."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope.words()
        super().__init__(f"No action of yours is in this scope: {self.scope}.")


class SelectionChangedError(Exception):
    """Since the preview, actions have come into the scope or left it."""

    def __init__(self, batch: Batch, seen: str) -> None:
        self.seen, self.groups = seen, batch.groups
        super().__init__(f"The selection has changed since you saw it: {batch.groups} actions now. Look once more.")


class BatchKeyReusedError(KeyReusedError):
    """One Idempotency-Key, two different batches."""

    def __init__(self, first: Batch) -> None:
        self.batch = str(first.pk)
        Exception.__init__(
            self, "This Idempotency-Key was used for another batch; that one stands, and nothing was started."
        )


def start(
    *,
    scope: Scope,
    by: Actor,
    now: datetime,
    reason: str,
    via: str,
    seen: str = "",
    key: str = "",
    fingerprint: str = "",
    leave_later: bool = False,
) -> Batch:
    """Have every action that is in a scope now taken back, the newest first; what lands later is no part of it.

    `via` says what asked: click or api. `seen`: the preview's. `key`: the asker's own Idempotency-Key; repeated with
    the same `fingerprint` it names the batch it started. Raises NotFoundError, ScopeMissingError, ReasonRequiredError,
    ReadOnlyError, NothingSelectedError, SelectionChangedError, BatchKeyReusedError. Writes `batch_started`.
    """
    policies.check_may_batch(by, others=False, reason="")
    hashed = hashlib.sha256(f"{by.party.type}:{by.party.id} {by.user.pk} {key}".encode()).hexdigest() if key else ""
    if known := _known(hashed, fingerprint):
        return known
    wanted: dict[str, Any] = {"scope": scope.as_json(), "leave_later": leave_later}
    try:
        with transaction.atomic():
            batch = new(by=by, now=now, reason=reason, key=hashed, fingerprint=fingerprint, **wanted)
            _freeze(batch, scope.groups_for(by))
            found = count(batch, by=by)
            if not batch.groups:
                raise policies.ReadOnlyError if policies.only_reads(by) else NothingSelectedError(scope)
            if seen and seen != (current := _seen(batch)):
                raise SelectionChangedError(batch, current)
            begin(batch, found, via=via, by=by, now=now)
    except IntegrityError:
        if known := _known(hashed, fingerprint):  # a twin came first
            return known
        raise
    return batch


def _known(hashed: str, fingerprint: str) -> Batch | None:
    known = Batch.objects.filter(key=hashed).first() if hashed else None
    if known is not None and known.fingerprint != fingerprint:
        raise BatchKeyReusedError(known)
    return known


def new(*, by: Actor, now: datetime, reason: str, **more: Any) -> Batch:
    """Insert a batch in which nothing is yet."""
    values = {"kind": Batch.Kind.REVOKE, "state": Batch.State.WORKING, "authority": policies.Authority.OWNER}
    return Batch.objects.create(
        **values | more,
        asked_at=now,
        asked_by=str(by.party),
        user=by.user,
        agent=by.token.agent if by.token else None,
        token=by.token,
        reason=reason.strip(),
        groups=0,
        effects=0,
        state_at=now,
        state_by=str(by.party),
    )


def _freeze(batch: Batch, groups: QuerySet[Group]) -> None:
    """Keep which actions these are, and whose turn comes when: the newest first, as others may build on older ones."""
    size = Effect.objects.filter(group=OuterRef("pk")).order_by().values("group").annotate(n=Count("pk")).values("n")
    turn = Window(RowNumber(), order_by=[F("landed_at").desc(nulls_last=True), F("pk").desc()])
    keep(batch, groups, turn=turn, group=F("pk"), size=Coalesce(Subquery(size), 0))


def keep(batch: Batch, rows: QuerySet[Any], *, turn: Any, group: Any, size: Any, undoes: Any = None) -> None:
    """Insert one item for each row of a query, in one statement, however many there are."""
    values = {
        "batch_id": Value(batch.pk, output_field=UUIDField()),
        "position": turn - Value(1),
        "group_id": group,
        "members": size,
        "revocation_id": undoes or Value(None, output_field=UUIDField()),
        "outcome": Value(Outcome.NOT_ATTEMPTED.value, output_field=CharField()),
        "detail": Value("", output_field=CharField()),
        "refusal": Value("", output_field=CharField()),
    }
    named = {f"item_{name}": value for name, value in values.items()}
    query = rows.order_by().annotate(**named).order_by("item_position").values_list(*named).query
    selected, params = query.sql_with_params()
    table, columns = BatchItem._meta.db_table, ", ".join(values)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({columns}) {selected}", params)


@dataclass(frozen=True)
class Found:
    """Whose the frozen actions are."""

    others: bool
    owner: Party | None


def count(batch: Batch, *, by: Actor) -> Found:
    """Set on the batch how much was frozen, and return whose it is: an owner where all are one person's."""
    items = BatchItem.objects.filter(batch=batch)
    found = items.aggregate(
        groups=Count("pk"),
        effects=Sum("members", default=0),
        owners=Count("group__owner", distinct=True),
        others=Count("pk", filter=~Q(group__owner=by.user)),
    )
    batch.groups, batch.effects = found["groups"], found["effects"]
    one = items.select_related("group__owner").first() if found["owners"] == 1 else None
    return Found(found["others"] > 0, party_of(one.group.owner) if one else None)


def _seen(batch: Batch) -> str:
    newest = BatchItem.objects.filter(batch=batch).order_by("-group_id").values_list("group_id", flat=True).first()
    return forecast.seen(batch.groups, newest)


def begin(batch: Batch, found: Found, *, via: str, by: Actor, now: datetime) -> None:
    """Put a frozen batch on the log and have it worked after the commit; raises ReasonRequiredError."""
    batch.authority = policies.check_may_batch(by, others=found.others, reason=batch.reason)
    batch.save(update_fields=["groups", "effects", "authority"])
    data = {
        "kind": batch.kind,
        "of": str(batch.of_id or ""),
        "scope": {name: value for name, value in batch.scope.items() if name != "groups"},
        "chosen": len(batch.scope.get("groups", ())),
        "groups": batch.groups,
        "effects": batch.effects,
        "leave_later": batch.leave_later,
        "via": via,
        "authority": batch.authority,
        "reason": batch.reason,
    }
    log.append([entry("batch_started", batch, data, by=by, owner=found.owner)], now=now)
    transaction.on_commit(wake_batches, robust=True)


def entry(action: str, batch: Batch, data: dict[str, Any], *, by: Actor, owner: Party | None = None) -> log.Entry:
    """Return what the log says of a batch; a restore is found by the batch that it undoes, too."""
    undone = [("batch", str(batch.of_id))] if batch.of_id else []
    return log.Entry(action, ("batch", str(batch.pk)), by.party, owner, data, subjects=undone)
