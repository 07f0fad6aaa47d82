"""How are the sample objects taken back and restored? One adapter class a model."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db.models.deletion import Collector

from sideeffects.targets.base import LocalAdapter
from sideeffects.targets.registry import register
from sideeffects.workspace.models import Kept, Note, Project, Task

MOST_DIGITS = 19  # a longer number is no primary key, and PostgreSQL refuses to compare it


class KeptAdapter(LocalAdapter):
    """The adapter of a model that is deleted by a stamp."""

    model: ClassVar[type[Kept]]

    def lock(self, ids: Sequence[str]) -> Mapping[str, Kept]:
        """Lock and return the rows that are present, deleted ones included, by id."""
        keys = [int(key) for key in ids if key.isascii() and key.isdigit() and len(key) < MOST_DIGITS]
        rows = self.model._default_manager.select_for_update().filter(pk__in=keys).order_by("pk")
        return {str(row.pk): row for row in rows}

    def is_deleted(self, row: Kept) -> bool:
        """Say whether the row carries the stamp."""
        return row.deleted_at is not None

    def belongs_to(self, row: Kept, owner: Any) -> bool:
        """Say whether the row's owner is this one."""
        return bool(row.owner_id == owner.pk)

    def remove(self, rows: Sequence[Kept], *, by: str, now: datetime) -> set[str]:
        """Stamp the rows and write their versions."""
        return self._stamp(rows, deleted_at=now, deleted_by=by, now=now, why=f"revoked by {by}")

    def restore(self, rows: Sequence[Kept], *, by: str, now: datetime) -> set[str]:
        """Take the stamp away and write the versions."""
        return self._stamp(rows, deleted_at=None, deleted_by="", now=now, why=f"restored by {by}")

    def purge(self, rows: Sequence[Kept], *, by: str, now: datetime) -> set[str]:  # noqa: ARG002  (the door's signature)
        """Delete the rows and every version of them; what points to one keeps it (ProtectedError)."""
        keys = [row.pk for row in rows]
        found = self.model._default_manager.filter(pk__in=keys)
        Collector(using=found.db).collect(found)  # asks who points to them
        found._raw_delete(found.db)  # noqa: SLF001  (what the collector has let through; a delete would write versions)
        self.model.history.filter(id__in=keys).delete()  # type: ignore[attr-defined]
        left = set(self.model._default_manager.filter(pk__in=keys).values_list("pk", flat=True))
        return {str(key) for key in keys if key not in left}

    def _stamp(
        self, rows: Sequence[Kept], *, deleted_at: datetime | None, deleted_by: str, now: datetime, why: str
    ) -> set[str]:
        """Change the stamp where it is not so yet; the database's own answer says which rows that were."""
        keys = [row.pk for row in rows]
        stale = self.model._default_manager.filter(pk__in=keys, deleted_at__isnull=deleted_at is not None)
        changed = stale.update(deleted_at=deleted_at, deleted_by=deleted_by)
        if changed != len(keys):
            done = self.model._default_manager.filter(pk__in=keys, deleted_at=deleted_at, deleted_by=deleted_by)
            return {str(key) for key in done.values_list("pk", flat=True)}
        for row in rows:
            row.deleted_at, row.deleted_by = deleted_at, deleted_by
        self.model.history.bulk_history_create(  # type: ignore[attr-defined]
            rows, update=True, default_change_reason=why[:100], default_date=now
        )
        return {str(key) for key in keys}


@register
class ProjectAdapter(KeptAdapter):
    """Projects."""

    type = "project"
    model = Project


@register
class TaskAdapter(KeptAdapter):
    """Tasks."""

    type = "task"
    model = Task


@register
class NoteAdapter(KeptAdapter):
    """Notes."""

    type = "note"
    model = Note
