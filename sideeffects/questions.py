"""What would a revoke or a restore of an action come to? The numbers that are shown before the click."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sideeffects import offers, policies, queries
from sideeffects.presenters import GroupView, date_text, moment_text
from sideeffects.services.clashes import Clash
from sideeffects.transitions import EffectState, GroupState, Operation, RevokeClass

CLASHES = 20  # named on a page


@dataclass(frozen=True)
class Line:
    """So many members, and what will become of them."""

    count: int
    words: str
    detail: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked before the click; without `can` there is nothing to confirm and `why` says so."""

    lines: Sequence[Line]
    count: int
    can: bool
    why: str = ""
    here: int = 0
    asked: Sequence[str] = ()
    clashes: Sequence[Clash] = ()
    more_clashes: int = 0

    @property
    def asks(self) -> int:
        """Return how many members would only be requested of their targets."""
        return self.count - self.here

    @property
    def asks_only(self) -> bool:
        """Say whether nothing would be taken back here: targets would be asked, and that is all."""
        return bool(self.asked) and not self.here


def before_revoke(view: GroupView, *, now: datetime) -> Question:
    """Return what a revoke by this person would do now."""
    reach = offers.reach_of(view)
    until = date_text(now + timedelta(days=settings.TRASH_DAYS))
    lines = [*_here(view, until), *_stays(view, reach)]
    can = bool(reach.here or reach.asked) and view.can_revoke
    return Question(
        [line for line in lines if line.count],
        reach.here + reach.asked,
        can,
        "" if can else _why_not_revoke(view, reach),
        here=reach.here,
        asked=offers.askable(view),
    )


def _here(view: GroupView, until: str) -> list[Line]:
    counts: Counter[str] = Counter()
    for one in view.rows.tallies:
        if one.state == EffectState.ACTIVE and one.revoke_class == RevokeClass.LOCAL:
            counts[one.operation] += one.count
    trash = _("In the trash until {date}, restorable under the same ids.").format(date=until)
    said = {
        Operation.CREATE: (_("will be deleted here"), trash),
        Operation.UPDATE: (_("will be put back to the version before"), _("Restorable: applied again.")),
        Operation.DELETE: (_("will be undeleted"), _("Restorable: deleted again.")),
    }
    return [Line(counts[operation], *words) for operation, words in said.items()]


def _stays(view: GroupView, reach: offers.Reach) -> list[Line]:
    none = [one for one in view.rows.tallies if one.revoke_class == RevokeClass.NONE]
    reasons = "; ".join(dict.fromkeys(one.reason for one in none if one.reason))
    names = ", ".join(offers.askable(view))
    stay = _("stay as they are; a person has to decide about them first")
    return [
        Line(reach.asked, _("will only be requested of {names}").format(names=names), _window(view)),
        Line(reach.late, _("past the undo window"), _("Only an admin may still ask for these; they stay as they are.")),
        Line(
            reach.external,
            ngettext("stays as it is: nothing is asked", "stay as they are: nothing is asked", reach.external),
            offers.out_of_reach(view),
        ),
        Line(reach.none, _("cannot come back"), reasons),
        Line(reach.trash, _("already revoked"), ""),
        Line(reach.under_way, _("asked of their target before"), _("A revoke does not ask again; see its page.")),
        Line(reach.others, _("not standing any more"), _("Gone or purged before; not by this.")),
        Line(view.more_declared, _("declared by a repeat, not held here"), stay),
    ]


def _window(view: GroupView) -> str:
    """Say what is known of the undo windows of what would be asked: the target decides by its own."""
    asked = [one for one in view.rows.tallies if one.target in offers.askable(view) and one.state == EffectState.ACTIVE]
    until = min((one.window_until for one in asked if one.window_until), default=None)
    unknown = sum(one.undeclared for one in asked)
    said = [_("It decides; the outcome is there, not here.")]
    if until:
        said.append(_("Undo window as declared: until {moment}.").format(moment=moment_text(until)))
    if unknown:
        said.append(
            ngettext("Undo window of {n}: unknown.", "Undo windows of {n}: unknown.", unknown).format(n=unknown)
        )
    return " ".join(said)


def _why_not_revoke(view: GroupView, reach: offers.Reach) -> str:
    if reach.trash and not reach.here:
        return _("What can be revoked is revoked already.")
    if reach.under_way and not (reach.here or reach.late):
        return _("What can be asked has been asked already; its page shows how far that has got.")
    if reach.none == reach.all and view.group.state == GroupState.LANDED:
        return str(view.state_words.render(_))
    return " ".join(offer.why for offer in offers.offers_of(view) if offer.why) or _("Nothing can be taken back.")


def before_restore(view: GroupView, clashes: Sequence[Clash] = ()) -> Question:
    """Return what a restore by this person would do now; it belongs to the newest revocation that removed something.

    `clashes`: what stands in the way of it, found beforehand.
    """
    reach = offers.reach_of(view)
    in_the_way = {(clash.type, clash.id) for clash in clashes}
    removed = queries.restorable_of(view.group)
    counts = Counter(one.operation for one in removed if (one.type, one.object_id) not in in_the_way)
    back, stuck = len(removed), len(removed) - sum(counts.values())
    created, updated, deleted = (counts[operation] for operation in Operation)
    lines = [
        Line(
            created,
            _("would come back") if clashes else ngettext("comes back", "come back", created),
            _("Under the old ids, as it was when it was revoked."),
        ),
        Line(stuck, _("cannot come back as it stands"), _("Something stands in the way, named below.")),
        Line(updated, ngettext("is changed again", "are changed again", updated), _("The fields that were put back.")),
        Line(deleted, ngettext("is deleted again", "are deleted again", deleted), _("As the agent had deleted it.")),
        Line(reach.trash - back, _("stay in the trash"), _("Another revocation removed these; restore it after this.")),
        Line(reach.others, _("stay gone"), _("Deleted before the revoke, or purged since: not this revocation's.")),
        Line(
            reach.external + reach.asked + reach.late + reach.under_way,
            _("in other systems"),
            _("A restore asks nothing of them: what was undone there stays undone."),
        ),
        Line(reach.none, _("not revocable"), _("Never taken back, so nothing to restore.")),
    ]
    may = bool(back) and policies.may_decide(view.by, view.group)
    why = "" if may else _("Nothing of this action is in the trash that you could restore.")
    if may and clashes:
        why = _(
            "All come back or none: nothing is restored until whoever owns this data puts it right in its own "
            "application. Then look again."
        )
    shown = [line for line in lines if line.count]
    return Question(
        shown, back, may and not clashes, why, clashes=clashes[:CLASHES], more_clashes=len(clashes[CLASHES:])
    )
