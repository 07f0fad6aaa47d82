"""What does the page of one action show? Everything known of it, in a fixed number of queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from sideeffects import conflicts, evidence, members, offers, policies, presenters, proofs, queries, stories, words
from sideeffects.actors import Actor
from sideeffects.models import Revocation, ToolVersion
from sideeffects.presenters import GroupView
from sideeffects.transitions import EffectState


@dataclass(frozen=True)
class Outcome:
    """What the last revoke of a group came to, as answered then, and how its members stand now."""

    revocation: Revocation
    counts: Mapping[str, int]
    now: Mapping[str, int]


@dataclass(frozen=True)
class Dossier:
    """One action as one person sees it; `start` is the position of the first member shown."""

    view: GroupView
    start: int = 0

    @cached_property
    def offers(self) -> list[offers.Offer]:
        """Return the buttons, or why there is none."""
        return offers.offers_of(self.view)

    @cached_property
    def flags(self) -> list[str]:
        """Return what is odd about it."""
        return offers.flags_of(self.view)

    @cached_property
    def conflicts(self) -> list[conflicts.Conflict]:
        """Return the differing declarations that nobody has decided about."""
        return [conflicts.Conflict(row, self.view.declared) for row in self.view.open_conflicts]

    @cached_property
    def members(self) -> members.Members:
        """Return one page of its members, principal first."""
        return members.of(self.view.group, revocation=self.view.rows.revocation, start=self.start)

    @cached_property
    def story(self) -> stories.Story:
        """Return what happened to it."""
        return stories.of_group(self.view.group.pk)

    @cached_property
    def outcome(self) -> Outcome | None:
        """Return what its last revoke came to, where there was one."""
        revocation = self.view.rows.revocation
        if revocation is None:
            return None
        now = self.view.outcomes
        if revocation.restored_at is None:  # in the order of what was answered, beside which it may stand
            now = dict(sorted(now.items()))
        return Outcome(revocation, queries.outcomes_of(revocation), now)

    @cached_property
    def exchange(self) -> evidence.Exchange:
        """Return what was sent to targets about it, and what came back."""
        return evidence.of_group(self.view.group)

    @cached_property
    def proof(self) -> proofs.Proof | None:
        """Return whether its tool's way back is there and works; None where no contract is pinned."""
        return proofs.of_group(self.view.group)

    @property
    def may_decide(self) -> bool:
        """Say whether whoever looks decides about it, given a reason where one is needed."""
        return policies.may_decide(self.view.by, self.view.group)

    @property
    def awaited(self) -> list[str]:
        """Return the systems that have accepted a request whose end only they know."""
        accepted = {one.target for one in self.view.rows.tallies if one.state == EffectState.COMPENSATING}
        return sorted(accepted)

    @property
    def why_incomplete(self) -> list[str]:
        """Return every reason why it is not undone as a whole."""
        return words.incomplete_because(self.view.facts)

    @property
    def version(self) -> ToolVersion | None:
        """Return the contract that is pinned to it."""
        return self.view.group.tool_version

    @property
    def contract(self) -> list[tuple[str, Any]]:
        """Return what the pinned contract says, member by member; an empty member is left out."""
        pinned: Mapping[str, Any] = self.version.contract if self.version else {}
        return [(name, value) for name, value in pinned.items() if value]


def find(key: UUID, *, by: Actor) -> GroupView:
    """Return the group as this person sees it; raises NotFoundError where it is not there or not theirs."""
    rows = policies.visible_groups(by).select_related("owner", "agent", "tool_version__tool")
    group = rows.filter(pk=key).first()
    if group is None:
        raise policies.NotFoundError("group", str(key))
    return presenters.views_of([group], by=by)[0]
