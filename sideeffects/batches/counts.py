"""What has become of each action of a batch, and of each effect? One statement, so that it adds up at every moment."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FilteredRelation,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from sideeffects.models import Batch, BatchItem, Effect, Request
from sideeffects.transitions import OUTCOME_OF_STATE, WEAKEST_FIRST, EffectState, Outcome, RevokeClass

NOT_ASKED = "not-asked"  # the refusal of an item of which a part was taken back, and whose targets could not be asked
# What kept an action as it was and may be otherwise by now.
AGAIN = (
    "members-failed",
    "failed",
    "in-flight",
    "targets-out-of-reach",
    "edited-since",
    "depended-on",
    "revoke-cap",
    "restore-clash",
    NOT_ASKED,
)
CAN_GO_AGAIN = Q(refusal__in=AGAIN)
ASKED = (
    Outcome.NOT_SENT,
    Outcome.REQUESTED,
    Outcome.CONFIRMED,
    Outcome.REFUSED,
    Outcome.UNKNOWN,
    Outcome.ATTESTED,
)
OUTSIDE = [state for state, outcome in OUTCOME_OF_STATE.items() if outcome in ASKED]
_WEAK = {outcome: rank for rank, outcome in enumerate(WEAKEST_FIRST)}
_GROUPS, _EFFECTS, _OUTSIDE = range(3)
_ANY = UUID(int=0)  # a batch of which the statement is written once
# What was answered without a refusal stands where its members stand by now.
_LIVE = Q(worked_at__isnull=False, refusal="")


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Actions and effects of a batch by outcome, each in exactly one bucket; what is asked outside as it stands now.

    `waiting` and `done` are actions. `restorable` counts actions of which something lies in the trash by this batch,
    `failed` those that can be tried again, `asked_outside` effects that stay with their targets, whatever is restored.
    """

    as_of: datetime
    groups: dict[str, int]
    effects: dict[str, int]
    restorable: int
    failed: int
    asked_outside: int

    @property
    def waiting(self) -> int:
        """Return how many actions have not had their turn."""
        return self.groups.get(Outcome.NOT_ATTEMPTED.value, 0)

    @property
    def done(self) -> int:
        """Return how many actions have had their turn."""
        return sum(self.groups.values()) - self.waiting


def totals(batch: Batch, *, now: datetime) -> Totals:
    """Return how far a batch has got; in one statement, whose parts see one and the same moment."""
    found: dict[int, Counter[str]] = {_GROUPS: Counter(), _EFFECTS: Counter(), _OUTSIDE: Counter()}
    restorable = again = 0
    for kind, rank, number, standing, failed in _read(batch):
        found[kind][WEAKEST_FIRST[rank].value] += number
        restorable, again = restorable + standing, again + failed
    effects = _in_order(found[_EFFECTS])
    asked = sum(effects.get(outcome.value, 0) for outcome in ASKED)
    return Totals(
        as_of=now,
        groups=_in_order(found[_GROUPS]),
        effects=effects,
        restorable=restorable,
        failed=again,
        asked_outside=asked + sum(found[_OUTSIDE].values()),
    )


def ranked(items: Any, kind: str) -> Any:
    """Return items with the `rank` of where each stands by now, as the totals count them; see `WEAKEST_FIRST`."""
    if kind == Batch.Kind.RESTORE:
        return items.annotate(rank=_rank_of_item())
    members = Effect.objects.filter(group=OuterRef("group"), position__lt=OuterRef("members")).order_by()
    weakest = members.values("group").annotate(weakest=Min(_rank_of_effect(""))).values("weakest")
    now = When(_LIVE, then=Coalesce(Subquery(weakest), _rank_of_item()))
    return items.annotate(rank=Case(now, default=_rank_of_item()))


def rank_of(outcome: str) -> int:
    """Return the rank of an outcome."""
    return _WEAK[Outcome(outcome)]


def _read(batch: Batch) -> list[tuple[int, int, int, int, int]]:
    """Return the kind, the rank, how many there are, how many of them stand restorable and failed, of each bucket."""
    statement, parameters = _statement(batch.kind, connection.vendor)
    any_, this = (Batch._meta.pk.get_db_prep_value(key, connection) for key in (_ANY, batch.pk))
    with connection.cursor() as cursor:
        cursor.execute(statement, [this if one == any_ else one for one in parameters])
        rows: list[tuple[int, int, int, int, int]] = cursor.fetchall()
    return rows


@cache
def _statement(kind: str, _vendor: str) -> tuple[str, tuple[Any, ...]]:
    """Return the statement of `totals`, and its parameters with `_ANY` for the batch.

    Each open page of a batch asks for it every few seconds, and to write it takes twenty times as long as to answer it.
    """
    parts = _of_restore(_ANY) if kind == Batch.Kind.RESTORE else _of_revoke(_ANY)
    statement, parameters = parts[0].union(*parts[1:], all=True).query.sql_with_params()
    return statement, parameters


def _in_order(found: Counter[str]) -> dict[str, int]:
    return {outcome.value: found[outcome.value] for outcome in Outcome if found[outcome.value]}


def _of_revoke(batch: UUID) -> Sequence[Any]:
    items = BatchItem.objects.filter(batch=batch).order_by()
    touched = _LIVE | Q(revocation__isnull=False)
    return [
        _counted(ranked(items, Batch.Kind.REVOKE), _GROUPS, Count("pk"), failed=Count("pk", filter=CAN_GO_AGAIN)),
        _counted(items.exclude(touched).annotate(rank=_rank_of_item()), _EFFECTS, Sum("members")),
        _counted(
            _with_effects(items.filter(touched)).annotate(rank=_rank_of_effect("effect__")),
            _EFFECTS,
            Count("pk"),
            standing=Count(
                "pk", distinct=True, filter=Q(effect__state=EffectState.REVOKED, effect__revocation=F("revocation"))
            ),
        ),
    ]


def _of_restore(batch: UUID) -> Sequence[Any]:
    items = BatchItem.objects.filter(batch=batch).order_by()
    by_item = items.annotate(rank=_rank_of_item())
    asked = items.annotate(effect=FilteredRelation("group__effects")).filter(effect__state__in=OUTSIDE)
    outside = asked.annotate(rank=_rank_of_effect("effect__"))
    return [
        _counted(by_item, _GROUPS, Count("pk"), failed=Count("pk", filter=CAN_GO_AGAIN)),
        _counted(by_item, _EFFECTS, Sum("members")),
        _counted(outside, _OUTSIDE, Count("pk")),
    ]


def _counted(rows: Any, kind: int, number: Any, *, standing: Any = None, failed: Any = None) -> Any:
    nothing = Value(0, output_field=IntegerField())
    grouped = rows.annotate(kind=Value(kind, output_field=IntegerField())).values("kind", "rank")
    numbers = {"number": number, "standing": standing or nothing, "failed": failed or nothing}
    return grouped.annotate(**numbers).values_list("kind", "rank", "number", "standing", "failed")


def _with_effects(items: Any) -> Any:
    """Join the members that were frozen: what a person adopted since stands behind them."""
    frozen = Q(group__effects__position__lt=F("members"))
    return items.annotate(effect=FilteredRelation("group__effects", condition=frozen)).filter(effect__isnull=False)


def _rank_of_item() -> Case:
    known = [When(outcome=outcome.value, then=Value(rank)) for outcome, rank in _WEAK.items()]
    return Case(*known, output_field=IntegerField())


def _rank_of_effect(at: str) -> Case:
    """Say `transitions.outcome_of` in SQL, of a member whose action had its turn: what stands was left out."""

    def then(outcome: Outcome) -> Value:
        return Value(_WEAK[outcome])

    left = Request.objects.filter(effect=OuterRef(f"{at}pk"), current=True)
    under_way = Exists(left.filter(Q(sent_at__isnull=False) | Q(lease_until__isnull=False)))
    stands = {f"{at}state": EffectState.ACTIVE}
    waits = Q(worked_at__isnull=True) if at else Q(pk__in=[])
    known = [
        When(waits & Q(**stands), then=then(Outcome.NOT_ATTEMPTED)),
        When(**stands, **{f"{at}revoke_class": RevokeClass.NONE}, then=then(Outcome.NOT_REVOCABLE)),
        When(**stands, **{f"{at}restored_at__isnull": False}, then=then(Outcome.RESTORED)),
        When(**stands, then=then(Outcome.SKIPPED)),
        When(Q(**{f"{at}state": EffectState.REQUESTING}) & Q(under_way), then=then(Outcome.UNKNOWN)),
        *(When(**{f"{at}state": state}, then=then(outcome)) for state, outcome in OUTCOME_OF_STATE.items()),
    ]
    return Case(*known, output_field=IntegerField())


def moved() -> dict[UUID, datetime]:
    """Return of each batch at work when it moved last: an item's turn was over, or it was started or told to go on."""
    rows = Batch.objects.filter(state=Batch.State.WORKING).annotate(worked_at=Max("items__worked_at"))
    return {key: max(at, worked or at) for key, at, worked in rows.values_list("pk", "state_at", "worked_at")}
