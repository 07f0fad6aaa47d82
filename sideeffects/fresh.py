"""What is there to see of a call that was recorded just now? Told from what was written, without reading it back."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sideeffects.actors import Actor
from sideeffects.models import Effect, Fence, Group, Revocation
from sideeffects.presenters import GroupView
from sideeffects.queries import GroupRows, Tally
from sideeffects.services.land import Written


class FreshView(GroupView):
    """A group that nobody can have asked anything about yet, as whoever recorded it sees it."""

    is_fresh = True

    def __init__(self, group: Group, written: Written, *, by: Actor) -> None:
        effects, now = written.effects, group.opened_at
        rows = GroupRows(group, tallies=_tallies(effects, now), changed_at=now if effects else None)
        rows.principal = effects[0] if effects else None
        super().__init__(rows, by)
        self._written = written

    def first_members(self, most: int) -> list[Effect]:
        """Return the first members, principal first."""
        return list(self._written.effects[:most])

    @property
    def fences(self) -> list[Fence]:
        """Return none: it would have had to be there before."""
        return []

    def revocations(self, _most: int) -> list[Revocation]:
        """Return none: nobody has asked."""
        return []

    def records(self, most: int) -> list[Any]:
        """Return what stands of it on the log, newest first."""
        return list(reversed(self._written.records))[:most]


def _tallies(effects: Sequence[Effect], now: datetime) -> list[Tally]:
    """Return how many members are alike, as `queries.rows_of` counts them."""

    def alike(effect: Effect) -> tuple[Any, ...]:
        over = effect.undo_expires_at is not None and effect.undo_expires_at < now
        kind = (effect.type, effect.operation, effect.revoke_class, effect.reason, effect.state)
        return (*kind, over, effect.target.pk if effect.target else 0)

    found = (list(some) for _, some in groupby(sorted(effects, key=alike), alike))
    return sorted((_tally(some, alike(some[0])[5]) for some in found), key=lambda one: one.first)


def _tally(some: Sequence[Effect], over: bool) -> Tally:  # noqa: FBT001  (one member of the key)
    first = some[0]  # sorting keeps their order
    windows = [one.undo_expires_at for one in some if one.undo_expires_at is not None]
    return Tally(
        type=first.type,
        operation=first.operation,
        revoke_class=first.revoke_class,
        state=first.state,
        restored=False,
        count=len(some),
        first=first.position,
        reason=first.reason,
        target=first.target.name if first.target else "",
        askable=first.target is not None and first.target.registered_at is not None,
        window_over=over,
        window_until=min(windows, default=None),
        undeclared=len(some) - len(windows),
    )
