"""What has happened since an action that nobody may take back over unseen: rows were changed, others build on it?"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.dependants import Later
from sideeffects.models import Group
from sideeffects.services.answers import Result
from sideeffects.services.decided import Decided
from sideeffects.targets import local
from sideeffects.targets.edits import Edit, seen

MOST_TOLD = 100  # rows and later actions in one answer


class EditedSinceError(Exception):
    """Someone changed rows of it since; `seen` names what stands there now, for an override that knows it."""

    def __init__(self, group: Group, edits: Sequence[Edit], *, by: Actor) -> None:
        self.group, self.seen = str(group.pk), seen(edits)
        self.edited = [told(edit, values=by.is_person) for edit in edits[:MOST_TOLD]]
        self.rows = len(edits)
        first = edits[0]
        more = f" and {self.rows - 1} more" if self.rows > 1 else ""
        super().__init__(
            f"Nothing was changed: {first.type} {first.id} ({first.labels}){more} was changed since the agent. "
            "See the difference first."
        )


class DependedOnError(Exception):
    """Later actions build on it and stand; `alone` says whether it can go without them all the same."""

    def __init__(self, group: Group, later: Sequence[Later], *, by: Actor) -> None:
        visible = policies.visible_groups(by).filter(pk__in=[one.group for one in later])
        shown = set(visible.values_list("pk", flat=True))
        self.group, self.count = str(group.pk), len(later)
        self.later = [
            {"group": str(one.group), "how": sorted(one.how)} for one in later[:MOST_TOLD] if one.group in shown
        ]
        self.alone = not any(one.blocks for one in later)
        first = " One of them has to go first: it deleted what this one created, or changed again what it had changed."
        super().__init__(
            f"Nothing was changed: {self.count} later action{'s' if self.count > 1 else ''} built on this one."
            + ("" if self.alone else first)
        )


REFUSALS = (EditedSinceError, DependedOnError)


def told(edit: Edit, *, values: bool = True) -> dict[str, Any]:
    """Return a difference as answers tell it; without its values to an agent, which needs to know of it, not what."""
    told: dict[str, Any] = {"type": edit.type, "id": edit.id, "operation": edit.operation.value}
    if not values:
        return {**told, "fields": [{"field": change.label} for change in edit.changes]}
    names = ("then", "now", "override")
    fields = [{"field": one.label, **{name: getattr(one, name) for name in names}} for one in edit.changes]
    return {**told, "fields": fields}


def needs_a_look(result: Result) -> bool:
    """Say whether a person has to be shown something before this can go on."""
    return isinstance(result.refusal, REFUSALS)


def check_alone(one: Decided, later: Sequence[Later], *, leave: bool, by: Actor) -> None:
    """Let through what nothing builds on, or what can go without that and was chosen to; raises DependedOnError."""
    if later and (not leave or any(some.blocks for some in later)):
        raise DependedOnError(one.group, later, by=by)


def check_unedited(one: Decided, rows: local.Rows, *, override: str, by: Actor) -> Mapping[local.Key, Edit]:
    """Return the later changes that are overridden, as they were seen; raises EditedSinceError."""
    edits = rows.edits([piece for piece in one.pieces if rows.can_undo(piece)])
    if edits and override != seen(edits.values()):
        raise EditedSinceError(one.group, list(edits.values()), by=by)
    return edits


def still(later: Mapping[UUID, Later], done: set[UUID]) -> list[Later]:
    """Return the later actions that stand, the newest first."""
    return [later[key] for key in sorted(later, reverse=True) if key not in done]
