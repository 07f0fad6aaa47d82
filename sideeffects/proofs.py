"""What does each tool promise, is there a way to keep the promise here, and was it ever kept?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from sideeffects import queries, unresolved, words
from sideeffects.models import Effect, Request, ToolVersion
from sideeffects.presenters import date_text
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transitions import RevokeClass


@dataclass(frozen=True)
class ToolRow:
    """One tool: its contract in force, what this process can do, and when its way back last worked."""

    version: ToolVersion

    @property
    def name(self) -> str:
        """Return what it is called."""
        return self.version.tool.name

    @property
    def contract(self) -> Mapping[str, Any]:
        """Return what it declares."""
        declared: Mapping[str, Any] = self.version.contract
        return declared

    @property
    def executable(self) -> bool:
        """Say whether this process runs it itself."""
        return self.name in REGISTRY and REGISTRY[self.name].function is not None

    @property
    def worked_at(self) -> datetime | None:
        """Return when a revoke last took back what it wrote, from what was answered then."""
        return getattr(self.version, "worked_at", None)

    @property
    def is_none(self) -> bool:
        """Say whether it promises no way back, so that there is nothing to prove."""
        return self.contract.get("revoke_class") == RevokeClass.NONE

    @property
    def is_local(self) -> bool:
        """Say whether it promises that what it wrote can be deleted here."""
        return self.contract.get("revoke_class") == RevokeClass.LOCAL


def tools() -> list[ToolRow]:
    """Return every tool that was ever declared, by name, in one query."""
    return [ToolRow(version) for version in queries.tools().order_by("tool__name")]


def targets() -> QuerySet[Any]:
    """Return every system that is known, by name, with how many objects it holds and how many requests wait there."""
    held = Effect.objects.filter(target=OuterRef("pk")).order_by().values("target").annotate(number=Count("pk"))
    asked = Request.objects.filter(target=OuterRef("pk"), current=True, state__in=unresolved.STATES)
    open_ = asked.order_by().values("target").annotate(number=Count("pk"))
    suspended = open_.filter(suspended_at__isnull=False)
    return (
        queries.targets()
        .annotate(
            held=Coalesce(Subquery(held.values("number")), 0),
            waiting=Coalesce(Subquery(open_.values("number")), 0),
            suspended=Coalesce(Subquery(suspended.values("number")), 0),
        )
        .order_by("name")
    )


@dataclass
class ToolView:
    """A tool in the version in force, as pages and API show it."""

    row: ToolVersion
    worked_at: datetime | None

    def __post_init__(self) -> None:
        self.contract = Contract.from_json(self.row.contract)
        registered = REGISTRY.get(self.name)
        self.runs = "here" if registered is not None and registered.function is not None else "elsewhere"

    @property
    def name(self) -> str:
        """Return the tool's name."""
        return self.row.tool.name

    @property
    def target(self) -> str | None:
        """Return the target's name."""
        return self.row.target.name if self.row.target else None

    @property
    def proof(self) -> words.Words:
        """Return whether taking it back has ever worked: to declare is not to be able."""
        return words.proof(self.contract.revoke_class, date_text(self.worked_at))


def tools_of(rows: Iterable[Any]) -> list[ToolView]:
    """Return the tools that `queries.tools` found."""
    return [ToolView(row, row.worked_at) for row in rows]
