"""What does each tool promise, is there a way to keep the promise here, and was it ever kept?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from sideeffects import queries
from sideeffects.models import Target, ToolVersion
from sideeffects.tools import REGISTRY
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


def targets() -> QuerySet[Target]:
    """Return every system that a tool named, by name, with how many objects it holds."""
    return queries.targets().annotate(held=Count("effects")).order_by("name")
