"""What would a revoke find if it were asked for now? Looked at without locks, to show it; decides nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sideeffects import dependants, policies, queries
from sideeffects.actors import Actor
from sideeffects.dependants import Later
from sideeffects.models import Effect, Group
from sideeffects.services.ask import is_waiting, obstacle
from sideeffects.services.decided import is_here, standing_piece
from sideeffects.targets import local
from sideeffects.targets.edits import Edit, Wrote, seen
from sideeffects.targets.registry import ADAPTERS, adapter_for
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
    along: "Along | None" = None

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


@dataclass(frozen=True)
class Along:
    """What goes too where all that builds on an action is taken back with it, directly or not.

    `moot`: nothing that differs now would differ any more then, since it is those actions that changed it.
    """

    actions: int
    objects: int
    moot: bool


def before(group: Group, *, by: Actor, now: datetime) -> Sight:
    """Return what a revoke of this group would find now; nothing where nothing of it is here or asked."""
    if group.state != GroupState.LANDED:
        return Sight()
    builds = dependants.of([group.pk]).get(group.pk, {})
    alone = not any(one.blocks for one in builds.values())
    rest = _members(_later(group)) if builds else []
    edits = _edits(group) if by.is_person else {}
    moot = _moot(group, edits.keys(), rest)
    asked = [] if alone else moot  # what only a revoke of this one alone would be asked about
    left = [edit for key, edit in edits.items() if key not in asked]
    objects = sum(_goes(effect, later, by=by, now=now) for later, members in rest for effect in members)
    along = Along(len(rest), objects, len(moot) == len(edits)) if builds else None
    return Sight(left, seen(left), _shown(builds, by), len(builds), alone, along)


def _later(group: Group) -> list[Group]:
    """Return all that builds on it, the newest first, as it goes."""
    keys = [key for key in dependants.closure([group.pk]) if key != group.pk]
    return list(Group.objects.filter(pk__in=keys).select_related("owner", "tool_version").order_by("-pk"))


def _goes(effect: Effect, group: Group, *, by: Actor, now: datetime) -> bool:
    return is_here(effect) or (is_waiting(effect) and not obstacle(effect, group, by=by, now=now))


def _moot(group: Group, keys: Collection[local.Key], rest: Sequence[tuple[Group, list[Effect]]]) -> set[local.Key]:
    """Return which of these rows say again what this action left there, as soon as the later ones are taken back."""
    every = [*rest, *_members([group])] if keys and rest else []
    pieces = [standing_piece(one, some.owner) for some, members in every for one in members if is_here(one)]
    pieces = [piece for piece in pieces if piece.key in keys]
    rows = local.Rows(pieces, locked=False)
    rows.read(pieces)
    return {key for key in keys if _says_again(rows, [piece for piece in pieces if piece.key == key])}


def _says_again(rows: local.Rows, pieces: Sequence[local.Piece]) -> bool:
    """Say whether nothing is in the way of any of these writes of one row, undone one after another."""
    if not pieces:
        return False
    adapter = adapter_for(pieces[0].type)
    said = dict(adapter.content(rows.of(pieces[0])))
    for piece in pieces:
        around = adapter.contents([version for version in (piece.expected, piece.before) if version])
        then = around.get(piece.expected, {})
        if any(said[name] != then[name] for name in said.keys() & then.keys()):
            return False
        if piece.operation is Operation.UPDATE:
            said |= around.get(piece.before, {})
    return True


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


def _edits(group: Group) -> dict[local.Key, Edit]:
    members = queries.members_of([group])[group.pk]
    pieces = [standing_piece(effect, group.owner) for effect in members if is_here(effect)]
    rows = local.Rows(pieces, locked=False)
    rows.read(pieces)
    return rows.edits([piece for piece in pieces if rows.can_undo(piece)])


def vanished(effects: Sequence[Effect]) -> set[UUID]:
    """Return which of these effects' rows are not there any more, so that no restore brings them back."""
    local_ones = [one for one in effects if one.revoke_class == RevokeClass.LOCAL and one.type in ADAPTERS]
    here = {one.pk: standing_piece(one, None) for one in local_ones}
    rows = local.Rows(here.values(), locked=False)
    return {key for key, piece in here.items() if piece not in rows}


def wrote(effects: Sequence[Effect]) -> dict[UUID, list[Wrote]]:
    """Return what updates that ran here changed, field by field, by effect; one query a type."""
    updates = [one for one in effects if one.operation == Operation.UPDATE and one.revoke_class == RevokeClass.LOCAL]
    pieces = {one.pk: standing_piece(one, None) for one in updates}
    rows = local.Rows([], locked=False)
    rows.read(pieces.values())
    return {key: rows.wrote(piece) for key, piece in pieces.items()}
