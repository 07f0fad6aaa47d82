"""Which states exist, which actions lead from one to the next, and when is a group complete? One table; pure."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple


class GroupState(StrEnum):
    """Where one tool call stands as a call."""

    OPEN = "open"
    LANDED = "landed"
    FAILED = "failed"
    LOST = "lost"


class EffectState(StrEnum):
    """Where one object stands between written and taken back."""

    ACTIVE = "active"
    REVOKED = "revoked"
    PURGED = "purged"
    GONE = "gone"
    REQUESTING = "requesting"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    ATTESTED = "attested"


class RevokeClass(StrEnum):
    """How far a revoke can get."""

    NONE = "none"
    LOCAL = "local_compensate"
    EXTERNAL = "governed_external"


class Operation(StrEnum):
    """What a tool call did to an object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class Outcome(StrEnum):
    """What became of one member, one group or one batch item: the same names everywhere."""

    REVOKED = "revoked"
    RESTORED = "restored"
    NOT_SENT = "not sent"
    REQUESTED = "requested"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    ATTESTED = "attested"
    ALREADY_GONE = "already gone"
    NOT_REVOCABLE = "not revocable"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_ATTEMPTED = "not attempted"


class Standing(StrEnum):
    """What a whole group is called: the name of its weakest member."""

    IN_FLIGHT = "in flight"
    FAILED = "failed"
    LOST = "lost"
    STANDING = "standing"
    REQUESTED = "requested"
    INCOMPLETE = "incomplete"
    PARTLY_RESTORED = "partly restored"
    REVOKED = "revoked"
    UNDONE = "undone by the target's word"
    ATTESTED = "attested"


_G, _E = GroupState, EffectState

GROUP_TABLE: dict[tuple[GroupState, str], GroupState] = {
    (_G.OPEN, "land"): _G.LANDED,
    (_G.OPEN, "fail"): _G.FAILED,
    (_G.OPEN, "lose"): _G.LOST,
    (_G.LOST, "land"): _G.LANDED,
}

EFFECT_TABLE: dict[tuple[EffectState, str], EffectState] = {
    (_E.ACTIVE, "revoke"): _E.REVOKED,
    (_E.ACTIVE, "find_gone"): _E.GONE,
    (_E.REVOKED, "restore"): _E.ACTIVE,
    (_E.REVOKED, "purge"): _E.PURGED,
    (_E.ACTIVE, "request"): _E.REQUESTING,
    (_E.REQUESTING, "accept"): _E.COMPENSATING,
    (_E.COMPENSATING, "confirm"): _E.COMPENSATED,
    **{
        (state, "refuse"): _E.REFUSED
        for state in (_E.REQUESTING, _E.COMPENSATING, _E.UNKNOWN, _E.COMPENSATED, _E.ATTESTED)
    },
    (_E.REFUSED, "request"): _E.REQUESTING,
    (_E.REQUESTING, "lose_contact"): _E.UNKNOWN,
    (_E.UNKNOWN, "request"): _E.REQUESTING,
    (_E.REQUESTING, "request"): _E.REQUESTING,
    **{(state, "accept"): _E.COMPENSATING for state in (_E.UNKNOWN, _E.REFUSED, _E.COMPENSATED)},
    **{(state, "confirm"): _E.COMPENSATED for state in (_E.UNKNOWN, _E.REFUSED, _E.ATTESTED, _E.REQUESTING)},
    **{(state, "attest"): _E.ATTESTED for state in (_E.REQUESTING, _E.COMPENSATING, _E.UNKNOWN, _E.REFUSED)},
}


_SAID = {
    "land": "can land",
    "fail": "can be reported failed",
    "lose": "can be reported lost",
    "revoke": "can be revoked",
    "find_gone": "can be found gone",
    "restore": "can be restored",
    "purge": "can be purged",
    "request": "can be asked back",
    "accept": "can be accepted by its target",
    "confirm": "can be confirmed by its target",
    "refuse": "can be refused by its target",
    "lose_contact": "can become unknown",
    "attest": "can be attested",
}


class TransitionError(Exception):
    """The table holds no arrow for this action from this state."""

    def __init__(self, state: GroupState | EffectState, action: str) -> None:
        self.state, self.action = state, action
        table = GROUP_TABLE if isinstance(state, GroupState) else EFFECT_TABLE
        fitting = [known.value for known, name in table if name == action]
        what = "This call" if isinstance(state, GroupState) else "This effect"
        only = f"only one that is {' or '.join(fitting)}" if fitting else "none"
        super().__init__(f"{what} is {state.value}; {only} {_SAID.get(action, 'can have this done')}.")


def group_after(state: GroupState, action: str) -> GroupState:
    """Return the state a group has after the action; raises TransitionError."""
    try:
        return GROUP_TABLE[state, action]
    except KeyError:
        raise TransitionError(state, action) from None


def effect_after(state: EffectState, action: str) -> EffectState:
    """Return the state an effect has after the action; raises TransitionError."""
    try:
        return EFFECT_TABLE[state, action]
    except KeyError:
        raise TransitionError(state, action) from None


class Member(NamedTuple):
    """As much of an effect as its group's name depends on; `sent` where its request has left, answered or not."""

    revoke_class: RevokeClass
    state: EffectState
    restored: bool = False
    sent: bool = False


OUTCOME_OF_STATE: dict[EffectState, Outcome] = {
    _E.ACTIVE: Outcome.NOT_ATTEMPTED,
    _E.REVOKED: Outcome.REVOKED,
    _E.PURGED: Outcome.REVOKED,
    _E.GONE: Outcome.ALREADY_GONE,
    _E.REQUESTING: Outcome.NOT_SENT,
    _E.COMPENSATING: Outcome.REQUESTED,
    _E.COMPENSATED: Outcome.CONFIRMED,
    _E.REFUSED: Outcome.REFUSED,
    _E.UNKNOWN: Outcome.UNKNOWN,
    _E.ATTESTED: Outcome.ATTESTED,
}

# Weakest first: a group is called by the first of these that any member has.
WEAKEST_FIRST: Sequence[Outcome] = (
    Outcome.FAILED,
    Outcome.UNKNOWN,
    Outcome.REFUSED,
    Outcome.NOT_ATTEMPTED,
    Outcome.SKIPPED,
    Outcome.NOT_SENT,
    Outcome.NOT_REVOCABLE,
    Outcome.ALREADY_GONE,
    Outcome.REQUESTED,
    Outcome.ATTESTED,
    Outcome.CONFIRMED,
    Outcome.RESTORED,
    Outcome.REVOKED,
)
_WEAKNESS = {outcome: rank for rank, outcome in enumerate(WEAKEST_FIRST)}
_UNDONE = frozenset({_E.REVOKED, _E.COMPENSATED})


def outcome_of(member: Member) -> Outcome:
    """Return what has become of one member so far, seen from a revoke."""
    if member.state is _E.ACTIVE and member.revoke_class is RevokeClass.NONE:
        return Outcome.NOT_REVOCABLE
    if member.state is _E.ACTIVE and member.restored:
        return Outcome.RESTORED
    if member.state is _E.REQUESTING and member.sent:
        return Outcome.UNKNOWN
    return OUTCOME_OF_STATE[member.state]


def weakest(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that names the whole; of none at all, `not attempted`."""
    return min(set(outcomes), key=_WEAKNESS.__getitem__, default=Outcome.NOT_ATTEMPTED)


def is_complete(state: GroupState, members: Sequence[Member], *, conflict_open: bool) -> bool:
    """Say whether everything declared is undone: a whitelist, so that a new state can never count by accident."""
    return (
        state is _G.LANDED
        and not conflict_open
        and bool(members)
        and all(member.state in _UNDONE and member.revoke_class is not RevokeClass.NONE for member in members)
    )


NOT_LANDED = {_G.OPEN: Standing.IN_FLIGHT, _G.FAILED: Standing.FAILED, _G.LOST: Standing.LOST}
# Each set holds the one before: a group is called by the first that holds all its members' states.
ALL_OF = (
    ({_E.REVOKED, _E.PURGED}, Standing.REVOKED),
    ({_E.REVOKED, _E.PURGED, _E.COMPENSATED}, Standing.UNDONE),
    ({_E.REVOKED, _E.PURGED, _E.COMPENSATED, _E.ATTESTED}, Standing.ATTESTED),
    ({_E.REVOKED, _E.PURGED, _E.COMPENSATED, _E.ATTESTED, _E.REQUESTING, _E.COMPENSATING}, Standing.REQUESTED),
)


def standing_of(state: GroupState, members: Sequence[Member], *, conflict_open: bool) -> Standing:
    """Return what the group is called, by its weakest member; an open conflict makes any undoing incomplete."""
    if state is not _G.LANDED:
        return NOT_LANDED[state]
    states = {member.state for member in members}
    if states <= {_E.ACTIVE}:
        return Standing.STANDING
    if any(member.restored and member.state is _E.ACTIVE for member in members):
        return Standing.PARTLY_RESTORED
    if conflict_open:
        return Standing.INCOMPLETE
    return next((name for allowed, name in ALL_OF if states <= allowed), Standing.INCOMPLETE)


def diagram() -> str:
    """Return both tables as a Mermaid state diagram, as README shows it."""
    tables = (("Group", GROUP_TABLE, GroupState.OPEN), ("Effect", EFFECT_TABLE, EffectState.ACTIVE))
    lines = ["stateDiagram-v2"]
    for name, table, first in tables:
        lines += [f"    state {name} {{", f"        [*] --> {first.name}"]
        arrows: dict[tuple[str, str], list[str]] = {}
        for (state, action), to in table.items():
            arrows.setdefault((state.name, to.name), []).append(action)
        lines += [f"        {one} --> {to}: {', '.join(actions)}" for (one, to), actions in arrows.items()]
        lines.append("    }")
    return "\n".join(lines)
