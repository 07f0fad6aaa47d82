"""What does the runtime need of an accepted plan? Its steps with their numbers, its pivot, its cap and its end."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import UNSET

from plans.core import canonical
from plans.core.verdict import Verdict


class RunState(StrEnum):
    """Where one try of a step stands."""

    BEGUN = "begun"
    COMPLETED = "completed"
    FAILED = "failed"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"  # an approval that was asked for anew, or that a rollback made pointless


@dataclass(frozen=True)
class Step:
    """One step: seconds, euros, and what stands for its bytes. None is unbounded (a window: not declared)."""

    index: int
    id: str
    tool: str
    kind: str
    duration: int | None
    window: int | None
    spend: Decimal
    key: str
    sha256: str
    human: bool


@dataclass(frozen=True)
class Script:
    """An accepted plan as it is carried out."""

    saga: str
    digest: str
    pivot: int
    cap: Decimal
    expires_at: datetime
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step | None:
        """Return the step of this id."""
        return next((step for step in self.steps if step.id == name), None)

    def until_pivot(self, index: int) -> int | None:
        """Return the worst case from the begin of a step until the pivot begins; None where nothing bounds it."""
        total = 0
        for step in self.steps[index : self.pivot]:
            if step.duration is None:
                return None
            total += step.duration
        return total


@dataclass(frozen=True)
class Ran:
    """The newest try of a step: what the gates know of the past."""

    index: int
    state: RunState
    begun_at: datetime
    ended_at: datetime | None = None
    held: Decimal = Decimal(0)  # what it holds of the mandate: reserved while it runs, spent after


def of(verdict: Verdict, *, humans: Collection[str]) -> Script:
    """Return what an accepted plan says; `humans` are the tools whose steps wait for a person."""
    plan, tree = verdict.plan, verdict.tree
    assert plan is not None
    assert tree is not None
    assert verdict.columns is not None
    assert verdict.columns.expires is not None
    steps = [
        _step(index, step, tree, humans=humans, before=index < plan.pivot_index)
        for index, step in enumerate(plan.steps)
    ]
    return Script(
        saga=plan.saga_id,
        digest=verdict.digest or "",
        pivot=plan.pivot_index,
        cap=_money(plan.mandate.max_spend_eur),
        expires_at=verdict.columns.expires.astimezone(UTC),
        steps=tuple(steps),
    )


def _step(index: int, step: Any, tree: dict[str, Any], *, humans: Collection[str], before: bool) -> Step:
    written = tree["steps"][index]
    return Step(
        index=index,
        id=step.id,
        tool=step.tool,
        kind=step.kind,
        duration=None if step.max_duration_seconds is UNSET else step.max_duration_seconds,
        window=step.undo_ttl_seconds if before and step.undo_ttl_seconds is not UNSET else None,
        spend=Decimal(0) if step.max_spend_eur is UNSET else _money(step.max_spend_eur),
        key=canonical.key(tree["sagaId"], written) if step.idempotency_key is UNSET else step.idempotency_key,
        sha256=canonical.step_hash(written),
        human=step.tool in humans,
    )


def _money(amount: float) -> Decimal:
    return Decimal(repr(amount))
