"""Which groups is a revoke decided for, on what authority, and which of their members are here?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from sideeffects.models import Effect, Group
from sideeffects.policies import Authority
from sideeffects.services.ask import is_waiting
from sideeffects.targets import local
from sideeffects.targets.edits import Edit
from sideeffects.transitions import EffectState, Operation, RevokeClass


@dataclass
class Decided:
    """One locked group whose revoke may and can be done; `edits` are the later changes that it overrides."""

    group: Group
    members: Sequence[Effect]
    authority: Authority
    conflict_open: bool
    obstacles: Mapping[UUID, str] = field(default_factory=dict)  # why a waiting member's target is not asked
    edits: Mapping[local.Key, Edit] = field(default_factory=dict)
    revocation: UUID = field(default_factory=uuid7)  # the key of the one that this becomes
    local_members: Sequence[Effect] = field(init=False)
    pieces: Sequence[local.Piece] = field(init=False)
    to_ask: Sequence[Effect] = field(init=False)  # the members that their targets are asked about

    def __post_init__(self) -> None:
        self.local_members = [effect for effect in self.members if is_here(effect)]
        self.pieces = [standing_piece(effect, self.group.owner) for effect in self.local_members]
        self.to_ask = [row for row in self.members if is_waiting(row) and not self.obstacles.get(row.pk)]


def is_here(effect: Effect) -> bool:
    """Say whether an effect stands that this process can undo."""
    return effect.state == EffectState.ACTIVE and effect.revoke_class == RevokeClass.LOCAL


def standing_piece(effect: Effect, owner: Any) -> local.Piece:
    """Return an effect that stands: unless someone changed the row, it says what it said after the write."""
    return _piece(effect, owner, effect.version_after)


def revoked_piece(effect: Effect, owner: Any) -> local.Piece:
    """Return an effect that was revoked: unless someone changed the row since, it says what it said then."""
    unchanged = effect.version_before if effect.operation == Operation.UPDATE else effect.version_after
    return _piece(effect, owner, effect.version_undone or unchanged)


def _piece(effect: Effect, owner: Any, expected: str) -> local.Piece:
    return local.Piece(
        type=effect.type,
        id=effect.object_id,
        owner=owner,
        operation=Operation(effect.operation),
        before=effect.version_before,
        after=effect.version_after,
        over=effect.version_over,
        expected=expected,
    )
