"""How are the sample objects taken back and restored? One adapter class a model."""

from datetime import datetime
from typing import Any, ClassVar

from sideeffects.targets.history import HistoryAdapter
from sideeffects.targets.registry import register
from sideeffects.workspace.models import Kept, Note, Project, Task


class KeptAdapter(HistoryAdapter):
    """The adapter of a model that is deleted by a stamp."""

    model: ClassVar[type[Kept]]
    apart = frozenset({"owner", "created_at"})

    def is_deleted(self, row: Kept) -> bool:
        """Say whether the row carries the stamp."""
        return row.deleted_at is not None

    def belongs_to(self, row: Kept, owner: Any) -> bool:
        """Say whether the row's owner is this one."""
        return bool(row.owner_id == owner.pk)

    def deleted(self, *, by: str, now: datetime) -> dict[str, Any]:
        """Return the stamp."""
        return {"deleted_at": now, "deleted_by": by}

    def standing(self) -> dict[str, Any]:
        """Return the stamp of what is not deleted."""
        return {"deleted_at": None, "deleted_by": ""}


@register
class ProjectAdapter(KeptAdapter):
    """Projects."""

    type = "project"
    model = Project


@register
class TaskAdapter(KeptAdapter):
    """Tasks; each hangs under its project."""

    type = "task"
    model = Task
    under: ClassVar = {"project": "project"}


@register
class NoteAdapter(KeptAdapter):
    """Notes."""

    type = "note"
    model = Note
