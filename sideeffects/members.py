"""Which members of a group stand on one page, and what did its last revoke do with each?"""

from collections.abc import Sequence
from dataclasses import dataclass

from sideeffects import presenters, requested
from sideeffects.models import Effect, Group, MemberOutcome, Revocation
from sideeffects.requested import Asking
from sideeffects.services import foresight
from sideeffects.targets.edits import Wrote
from sideeffects.transitions import EffectState, Outcome, RevokeClass, outcome_of
from sideeffects.words import VANISHED, Words

PAGE = 50


@dataclass(frozen=True)
class MemberRow:
    """One member as a line of a table; `outcome` is what the last revoke did with it, as answered then."""

    effect: Effect
    outcome: MemberOutcome | None = None
    asking: Asking | None = None
    wrote: Sequence[Wrote] = ()
    vanished: bool = False  # revoked here, and its row has gone since

    @property
    def words(self) -> Words:
        """Return the sentence that says where it stands."""
        if self.vanished:
            return VANISHED
        return self.asking.words if self.asking else presenters.effect_words(self.effect)

    @property
    def has_window(self) -> bool:
        """Say whether an undo window matters still: its target could be asked."""
        standing = self.effect.state == EffectState.ACTIVE and self.effect.revoke_class == RevokeClass.EXTERNAL
        return standing or bool(self.asking and self.asking.can_retry)

    @property
    def then(self) -> str:
        """Return what the last revoke did with it, where its sentence does not say so already."""
        if self.outcome is None:
            return ""
        if self.outcome.outcome == Outcome.NOT_ATTEMPTED:
            return f"{self.outcome.outcome}: {self.outcome.detail}" if self.outcome.detail else self.outcome.outcome
        said = outcome_of(self.effect.as_member()) == self.outcome.outcome
        return "" if said else self.outcome.outcome

    @property
    def how_far(self) -> str:
        """Return how far a revoke of it gets, marked for translation."""
        return presenters.how_far(self.effect)


@dataclass(frozen=True)
class Members:
    """Some members of a group, principal first; `next` and `previous` are positions, None where there is no more."""

    rows: Sequence[MemberRow]
    start: int = 0
    next: int | None = None

    @property
    def previous(self) -> int | None:
        """Return where the page before begins."""
        return max(self.start - PAGE, 0) if self.start else None

    @property
    def last(self) -> int:
        """Return the number of the last one shown, counted from 1."""
        return self.start + len(self.rows)


def of(group: Group, *, revocation: Revocation | None = None, start: int = 0, size: int = PAGE) -> Members:
    """Return the members from position `start` on, in a fixed number of queries however many there are."""
    found = Effect.objects.filter(group=group, position__gte=start).select_related("target").order_by("position")
    effects = list(found[: size + 1])
    shown = effects[:size]
    outcomes = MemberOutcome.objects.filter(revocation=revocation, effect__in=shown) if revocation else ()
    askings = requested.current(shown)
    by_effect = {outcome.effect_id: outcome for outcome in outcomes}
    wrote = foresight.wrote(shown)
    vanished = foresight.vanished([effect for effect in shown if effect.state == EffectState.REVOKED])
    rows = [
        MemberRow(
            effect, by_effect.get(effect.pk), askings.get(effect.pk), wrote.get(effect.pk, ()), effect.pk in vanished
        )
        for effect in shown
    ]
    return Members(rows, start, effects[size].position if len(effects) > size else None)
