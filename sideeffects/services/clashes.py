"""What stands in the way of a restore? Found before the click and again under the lock; decides nothing itself."""

from collections.abc import Sequence
from typing import Any

from sideeffects import queries
from sideeffects.models import Effect, Group
from sideeffects.services.decided import revoked_piece
from sideeffects.targets import local, returning
from sideeffects.targets.returning import Clash
from sideeffects.transitions import EffectState, Operation

__all__ = ["Clash", "RestoreClashError", "among", "before", "of"]


class RestoreClashError(Exception):
    """Something stands in the way of a restore, so nothing was restored; `clashes` names each object and why."""

    def __init__(self, group: Group, clashes: Sequence[Clash]) -> None:
        self.group = str(group.pk)
        self.clashes = [clash.as_json() for clash in clashes]
        more = f" and {len(clashes) - local.NAMED} more" if len(clashes) > local.NAMED else ""
        named = "; ".join(str(clash) for clash in clashes[: local.NAMED])
        super().__init__(f"Nothing was restored, since something stands in the way: {named}{more}.")


def before(group: Group) -> list[Clash]:
    """Return what stands in the way of restoring a group now, without a lock: to show it before the click."""
    removed = queries.restorable_of(group)
    return of(removed, owner=group.owner)


def of(removed: Sequence[Effect], *, owner: Any, lock: bool = False) -> list[Clash]:
    """Return what stands in the way of bringing back these effects of one group, in their order."""
    return among([(removed, owner)], lock=lock)


def among(groups: Sequence[tuple[Sequence[Effect], Any]], *, lock: bool = False) -> list[Clash]:
    """Return what stands in the way of bringing back these effects together, each group's with its owner."""
    pieces = [
        returning.Returning(
            piece := revoked_piece(effect, owner),
            deleted=effect.operation == Operation.CREATE,
            version=piece.expected,
        )
        for removed, owner in groups
        for effect in removed
        if effect.state == EffectState.REVOKED
    ]
    return returning.clashes(pieces, lock=lock)
