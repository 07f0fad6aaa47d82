"""What would a revoke find if it were asked for now? Looked at without locks, to show it; decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sideeffects import dependants, policies, queries
from sideeffects.actors import Actor
from sideeffects.dependants import Later
from sideeffects.models import Effect, Group
from sideeffects.services.decided import is_here, standing_piece
from sideeffects.targets import local
from sideeffects.targets.edits import Edit, Wrote, seen
from sideeffects.transitions import GroupState, Operation, RevokeClass

MOST = 20  # rows and later actions named on a page


@dataclass(frozen=True)
class Sight:
    """Rows that someone changed since, what stands for them as they are, and later actions that build on it."""

    edits: Sequence[Edit] = ()
    seen: str = ""
    later: Sequence[tuple[Later, Group]] = ()
    all_later: int = 0
    alone: bool = True

    @property
    def shown(self) -> Sequence[Edit]:
        """Return the rows that a page names."""
        return self.edits[:MOST]

    @property
    def more_edits(self) -> int:
        """Return how many rows are not named."""
        return len(self.edits) - len(self.shown)

    @property
    def more_later(self) -> int:
        """Return how many later actions are not named."""
        return self.all_later - len(self.later)


def before(group: Group, *, by: Actor) -> Sight:
    """Return what a revoke of this group would find now; nothing where nothing of it is here or asked."""
    if group.state != GroupState.LANDED:
        return Sight()
    edits = _edits(group) if by.is_person else []
    builds = dependants.of([group.pk]).get(group.pk, {})
    return Sight(edits, seen(edits), _shown(builds, by), len(builds), not any(one.blocks for one in builds.values()))


def later(group: Group, *, by: Actor) -> list[tuple[Later, Group]]:
    """Return the newest of the later actions that build on it and that this asker may see."""
    return _shown(dependants.of([group.pk]).get(group.pk, {}), by)


def _shown(builds: Mapping[UUID, Later], by: Actor) -> list[tuple[Later, Group]]:
    newest = sorted(builds, reverse=True)[:MOST]
    visible = policies.visible_groups(by).select_related("owner", "agent", "tool_version").in_bulk(newest)
    return [(builds[key], visible[key]) for key in newest if key in visible]


def edited(groups: Sequence[Group]) -> set[UUID]:
    """Return which of these actions hold rows that someone changed since, in a fixed number of queries."""
    here = {
        group.pk: [standing_piece(effect, group.owner) for effect in members if is_here(effect)]
        for group, members in _members(groups)
    }
    every = [piece for pieces in here.values() for piece in pieces]
    rows = local.Rows(every, locked=False)
    rows.read(every)
    return {key for key, pieces in here.items() if rows.edits([piece for piece in pieces if rows.can_undo(piece)])}


def _members(groups: Sequence[Group]) -> list[tuple[Group, list[Effect]]]:
    found = queries.members_of(groups)
    return [(group, found[group.pk]) for group in groups]


def _edits(group: Group) -> list[Edit]:
    members = queries.members_of([group])[group.pk]
    pieces = [standing_piece(effect, group.owner) for effect in members if is_here(effect)]
    rows = local.Rows(pieces, locked=False)
    rows.read(pieces)
    return list(rows.edits([piece for piece in pieces if rows.can_undo(piece)]).values())


def wrote(effects: Sequence[Effect]) -> dict[UUID, list[Wrote]]:
    """Return what updates that ran here changed, field by field, by effect; one query a type."""
    updates = [one for one in effects if one.operation == Operation.UPDATE and one.revoke_class == RevokeClass.LOCAL]
    pieces = {one.pk: standing_piece(one, None) for one in updates}
    rows = local.Rows([], locked=False)
    rows.read(pieces.values())
    return {key: rows.wrote(piece) for key, piece in pieces.items()}
