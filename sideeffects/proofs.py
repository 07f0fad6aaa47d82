"""What does each tool promise, is there a way to keep the promise here, and was it ever kept?"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from sideeffects.models import MemberOutcome, Revocation, Target, Tool, ToolVersion
from sideeffects.tools import REGISTRY
from sideeffects.transitions import Outcome, RevokeClass

# What says nothing about whether the way back works: it was not tried.
_UNTRIED = (Outcome.NOT_ATTEMPTED, Outcome.NOT_REVOCABLE, Outcome.SKIPPED)


@dataclass(frozen=True)
class ToolRow:
    """One tool: its newest contract, what this process can do, and its last real outcome."""

    tool: Tool
    version: ToolVersion | None
    executable: bool
    last: Revocation | None
    outcomes: Mapping[str, int]

    @property
    def contract(self) -> Mapping[str, Any]:
        """Return what it declares; empty where it declares nothing."""
        return self.version.contract if self.version else {}

    @property
    def is_none(self) -> bool:
        """Say whether it promises no way back, so that there is nothing to prove."""
        return self.contract.get("revoke_class") in {None, RevokeClass.NONE}

    @property
    def is_local(self) -> bool:
        """Say whether it promises that what it wrote can be deleted here."""
        return self.contract.get("revoke_class") == RevokeClass.LOCAL


def tools() -> list[ToolRow]:
    """Return every tool that was ever declared, by name, in three queries."""
    tried = Revocation.objects.filter(group__tool=OuterRef("name")).filter(
        outcomes__in=MemberOutcome.objects.exclude(outcome__in=[item.value for item in _UNTRIED])
    )
    newest = ToolVersion.objects.filter(tool=OuterRef("pk")).order_by("-number").values("pk")[:1]
    rows = list(
        Tool.objects.annotate(newest=Subquery(newest), last=Subquery(tried.order_by("-pk").values("pk")[:1])).order_by(
            "name"
        )
    )
    versions = ToolVersion.objects.select_related("target").in_bulk([row.newest for row in rows if row.newest])
    last = Revocation.objects.in_bulk([row.last for row in rows if row.last])
    counts = _counts(last)
    return [
        ToolRow(
            tool=row,
            version=versions.get(row.newest),
            executable=row.name in REGISTRY and REGISTRY[row.name].function is not None,
            last=last.get(row.last),
            outcomes=counts[row.last],
        )
        for row in rows
    ]


def _counts(revocations: Mapping[Any, Revocation]) -> Mapping[Any, Mapping[str, int]]:
    counted: dict[Any, dict[str, int]] = defaultdict(dict)
    rows = MemberOutcome.objects.filter(revocation__in=list(revocations)).values("revocation", "outcome").order_by()
    for revocation, outcome, count in rows.annotate(count=Count("pk")).values_list("revocation", "outcome", "count"):
        counted[revocation][outcome] = count
    return counted


def targets() -> QuerySet[Target]:
    """Return every system that a tool named, by name, with how many objects it holds and since when the newest."""
    return Target.objects.annotate(held=Count("effects"), newest=Max("effects__state_at")).order_by("name")
