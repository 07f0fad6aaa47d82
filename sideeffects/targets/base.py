"""What must an adapter for local business objects do? The door through which any app's own models join."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, ClassVar

# What a row says, field by field, as text for people and for comparing; None where it holds nothing. Stamps of
# deletion and bookkeeping are no part of it: only what someone would miss.
Content = Mapping[str, str | None]


class LocalAdapter(ABC):
    """One class of local objects. All verbs take lists, in a fixed number of statements, in the caller's transaction.

    Rows are whatever the app's model is; ids and versions are text. A version names what a row was at one time, and
    can be read as long as the row is there.
    """

    type: ClassVar[str]

    # -- Finding ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def find(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the rows that are present, deleted ones included, by id, without a lock: to show, never to decide."""

    @abstractmethod
    def lock(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Lock in the order of their keys and return the rows that are present, deleted ones included, by id."""

    @abstractmethod
    def is_deleted(self, row: Any) -> bool:
        """Say whether the row is in the trash, by whomever."""

    @abstractmethod
    def belongs_to(self, row: Any, owner: Any) -> bool:
        """Say whether the row is still the owner's: what is not is never touched on the owner's behalf."""

    def parents(self, rows: Sequence[Any]) -> Mapping[str, Sequence[tuple[str, str]]]:  # noqa: ARG002  (for subclasses)
        """Return, by id, type and id of the local objects each row hangs under; no statement."""
        return {}

    # -- Versions ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def content(self, row: Any) -> Content:
        """Return what the row says; no statement."""

    @abstractmethod
    def contents(self, versions: Collection[str]) -> Mapping[str, Content]:
        """Return what rows said at these versions, by version, without a lock; what is not kept is left out."""

    @abstractmethod
    def versions(self, rows: Sequence[Any], *, now: datetime) -> Mapping[str, str]:
        """Return, by id, the version that each locked row is at, keeping one first where none says what it says."""

    def label(self, name: str) -> str:
        """Return what people call a field."""
        return name.replace("_", " ")

    # -- Changing ---------------------------------------------------------------------------------------------------
    # Each verb returns the ids that the database says were changed; the caller holds it to that.

    @abstractmethod
    def remove(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Soft-delete the rows and keep their new versions."""

    @abstractmethod
    def purge(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Delete soft-deleted rows for good, their versions too; return the ids that were deleted.

        What still points to one of them keeps it: raises Django's ProtectedError, RestrictedError or IntegrityError.
        """

    @abstractmethod
    def restore(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Bring soft-deleted rows back under their own ids and keep their new versions."""

    @abstractmethod
    def revert(
        self,
        rows: Sequence[Any],
        *,
        to: Mapping[str, str],
        fields: Mapping[str, AbstractSet[str]],
        by: str,
        now: datetime,
    ) -> set[str]:
        """Set these fields of each row to what they were at a version, both by id, and keep the new versions."""

    def clashes(self, rows: Sequence[Any]) -> Mapping[str, str]:  # noqa: ARG002  (for subclasses)
        """Return, by id, why a deleted row cannot come back as it is (a unique value taken, a parent gone)."""
        return {}
