"""How does a row differ from how an agent left it, and what would taking back over that make of it? Pure."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sideeffects.transitions import Operation


@dataclass(frozen=True)
class Change:
    """One field: its name for people, how the agent left it, what it says now, and what an override leaves there."""

    label: str
    then: str | None
    now: str | None
    override: str | None

    @property
    def is_lost(self) -> bool:
        """Say whether an override loses what stands there now."""
        return self.override != self.now


@dataclass(frozen=True)
class Edit:
    """One row that someone changed after the agent; `digest` stands for what it says now."""

    type: str
    id: str
    operation: Operation
    changes: Sequence[Change]
    digest: str

    @property
    def labels(self) -> str:
        """Return the names of the fields that differ."""
        return ", ".join(change.label for change in self.changes)


@dataclass(frozen=True)
class Wrote:
    """One field that an agent changed: its name for people, what it said before, and what after."""

    label: str
    before: str | None
    after: str | None


def seen(edits: Iterable[Edit]) -> str:
    """Return what stands for these rows as they are: it is another one as soon as any of them is changed again."""
    lines = sorted(f"{edit.type} {edit.id} {edit.digest}" for edit in edits)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32] if lines else ""
