"""What must an adapter for local business objects do? The door through which any app's own models join."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar


class LocalAdapter(ABC):
    """One class of local objects. All verbs take lists and run inside the caller's transaction.

    Rows are whatever the app's model is; ids are text.
    """

    type: ClassVar[str]

    @abstractmethod
    def lock(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Lock and return the rows that are present, deleted ones included, by id; what is absent is left out."""

    @abstractmethod
    def is_deleted(self, row: Any) -> bool:
        """Say whether the row is in the trash, by whomever."""

    @abstractmethod
    def belongs_to(self, row: Any, owner: Any) -> bool:
        """Say whether the row is still the owner's: what is not is never touched on the owner's behalf."""

    @abstractmethod
    def remove(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Soft-delete the rows with their history; return the ids that the database says were changed."""

    @abstractmethod
    def purge(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Delete soft-deleted rows for good, their versions too; return the ids that were deleted.

        What still points to one of them keeps it: raises Django's ProtectedError, RestrictedError or IntegrityError.
        """

    @abstractmethod
    def restore(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Bring soft-deleted rows back under their own ids; return the ids that were changed."""
