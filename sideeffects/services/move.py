"""Move a request and its effect by the one table, with every stamp that goes with it; write them set-wise."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sideeffects.models import Effect, Group, Request
from sideeffects.services.ask import OPEN, threshold
from sideeffects.tools import Contract
from sideeffects.transitions import EFFECT_TABLE, EffectState

if TYPE_CHECKING:
    from uuid import UUID

REQUEST_FIELDS = (
    "state",
    "state_at",
    "detail",
    "flag",
    "next_try_at",
    "asks_first",
    "lease_until",
    "tries",
    "attempted",
    "asked_status",
    "asked_status_at",
    "status_url",
    "sent_at",
    "accepted_at",
    "maybe_at",
    "present_at",
    "settled_at",
    "word_at",
    "word_heard_at",
    "needs_person_since",
    "stale_at",
    "stale_since",
)


@dataclass
class Moved:
    """One request with what has happened to it in this transaction."""

    request: Request
    was: EffectState
    moved: bool = False
    person: bool = False
    group: Group = field(init=False)
    before: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.group = self.request.effect.group
        self.before = {name: getattr(self.request, name) for name in REQUEST_FIELDS}

    def changes(self) -> tuple[tuple[str, Any], ...]:
        """Return what is no longer as it was, by field."""
        now = ((name, getattr(self.request, name)) for name in REQUEST_FIELDS)
        return tuple((name, value) for name, value in now if value != self.before[name])


def move(one: Moved, action: str, *, detail: str, now: datetime) -> bool:
    """Take the arrow of this action, where there is one, and say whether there was."""
    request, effect = one.request, one.request.effect
    to = EFFECT_TABLE.get((EffectState(effect.state), action))
    if to is None or not request.current:
        return False
    effect.state, effect.state_at = to, now
    request.state, request.state_at, request.detail = to, now, detail[:500]
    request.stale_since = request.needs_person_since = request.stale_at = None
    if to in OPEN:
        contract = Contract.from_json(request.tool_version.contract)
        request.stale_at = now + threshold(contract, request.target)
    request.settled_at = None if to is EffectState.REQUESTING else now
    if to is not EffectState.REQUESTING:
        request.asks_first, request.next_try_at = False, None
    if action == "accept":
        request.accepted_at = request.accepted_at or now
    one.moved = True
    return True


def need_person(one: Moved, *, detail: str, now: datetime) -> None:
    """Say that nothing happens by itself any more."""
    one.request.next_try_at = None
    one.request.detail = detail[:500]
    if one.request.needs_person_since is None:
        one.request.needs_person_since = now
        one.person = True


def save(all_: Sequence[Moved]) -> None:
    """Write the rows, effects only where they moved; those that changed alike in one statement."""
    alike: dict[tuple[tuple[str, Any], ...], list[UUID]] = defaultdict(list)
    effects: dict[tuple[str, datetime], list[UUID]] = defaultdict(list)
    for one in all_:
        alike[one.changes()].append(one.request.pk)
        if one.moved:
            effects[one.request.effect.state, one.request.effect.state_at].append(one.request.effect_id)
    for changes, requests in alike.items():
        if changes:
            Request.objects.filter(pk__in=requests).update(**dict(changes))
    for (state, state_at), moved in effects.items():
        Effect.objects.filter(pk__in=moved).update(state=state, state_at=state_at)
