"""What did a revoke or a restore come to, group by group?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from sideeffects import requested
from sideeffects.models import Effect, Group
from sideeffects.transitions import (
    EffectState,
    GroupState,
    Outcome,
    Standing,
    is_complete,
    outcome_of,
    standing_of,
    weakest,
)


class MemberAnswer(NamedTuple):
    """One member: where it stands now, and what this asking did about it."""

    effect: Effect
    outcome: Outcome
    detail: str = ""


@dataclass
class Answer:
    """One group: `already` where this asking found nothing left to do; `record` is what stands on the log of it.

    `revocation` is the key of what this asking became.
    """

    group: Group
    members: Sequence[MemberAnswer]
    conflict_open: bool
    record: Any = None
    already: bool = False
    revocation: UUID | None = None
    counts: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = {}
        for member in self.members:
            self.counts[member.outcome.value] = self.counts.get(member.outcome.value, 0) + 1

    @cached_property
    def outcome(self) -> Outcome:
        """Return the weakest member's outcome."""
        return weakest(member.outcome for member in self.members)

    @property
    def complete(self) -> bool:
        """Say whether everything declared is undone; see `transitions.is_complete`."""
        members = [member.effect.as_member() for member in self.members]
        return is_complete(GroupState(self.group.state), members, conflict_open=self.conflict_open)

    @property
    def standing(self) -> Standing:
        """Return what the group is called now."""
        members = [member.effect.as_member() for member in self.members]
        return standing_of(GroupState(self.group.state), members, conflict_open=self.conflict_open)


@dataclass(frozen=True)
class Result:
    """One group's answer, or the refusal that left it as it was."""

    group: UUID
    answer: Answer | None = None
    refusal: Exception | None = None

    def unwrap(self) -> Answer:
        """Return the answer; raises the refusal."""
        if self.answer is None:
            assert self.refusal is not None
            raise self.refusal
        return self.answer


def as_they_stand(members: Sequence[Effect]) -> list[MemberAnswer]:
    """Return how members stand now, none changed; of those that are asked about, whether anything has left."""
    requesting = [effect for effect in members if effect.state == EffectState.REQUESTING]
    askings = requested.current(requesting) if requesting else {}
    return [_as_it_stands(effect, askings.get(effect.pk)) for effect in members]


def _as_it_stands(effect: Effect, asking: requested.Asking | None) -> MemberAnswer:
    if asking is None:
        return MemberAnswer(effect, outcome_of(effect.as_member()), effect.reason)
    member = effect.as_member()._replace(sent=asking.may_have_left)
    return MemberAnswer(effect, outcome_of(member), str(asking.words))
