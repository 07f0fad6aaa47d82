"""What may whoever looks do about an action now: which button, what to know before, or why there is none?"""

from collections import Counter
from dataclasses import dataclass, fields

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.inert import visible
from sideeffects import policies
from sideeffects.presenters import GroupView
from sideeffects.queries import Tally
from sideeffects.transitions import EffectState, GroupState, Operation, RevokeClass


@dataclass(frozen=True)
class Offer:
    """One button and what to know before; without an `endpoint` the reason why there is no button."""

    endpoint: str = ""
    label: str = ""
    why: str = ""


@dataclass(frozen=True)
class Reach:
    """How many members of a group a revoke would find in which position now."""

    here: int
    asked: int
    external: int
    none: int
    trash: int
    others: int
    late: int = 0
    under_way: int = 0

    @property
    def all(self) -> int:
        """Return how many members there are."""
        position = (self.here, self.asked, self.external, self.none, self.trash, self.others, self.late, self.under_way)
        return sum(position)


def reach_of(view: GroupView) -> Reach:
    """Count the members of a group by how far a revoke gets now; `late` are past their declared undo window."""
    counts: Counter[str] = Counter()
    for one in view.rows.tallies:
        counts[_position(view, one)] += one.count
    return Reach(**{field.name: counts[field.name] for field in fields(Reach)})


def _position(view: GroupView, one: Tally) -> str:
    if one.state == EffectState.ACTIVE:
        if one.revoke_class != RevokeClass.EXTERNAL:
            return "here" if one.revoke_class == RevokeClass.LOCAL else "none"
        if not one.askable:
            return "external"
        return "asked" if view.may_ask(one) else "late"
    if one.state == EffectState.REVOKED:
        return "trash"
    return "under_way" if one.target else "others"


_NOT_LANDED = {
    GroupState.OPEN: lambda: _("It has not landed: what it wrote is not known yet."),
    GroupState.LOST: lambda: _("It may still land: what it wrote is not known."),
    GroupState.FAILED: lambda: _("There is nothing to take back."),
}


def offers_of(view: GroupView) -> list[Offer]:
    """Return the buttons for this person, or one offer without a button that says why there is none."""
    state = GroupState(view.group.state)
    if state in _NOT_LANDED:
        return [*_fence(view), Offer(why=_NOT_LANDED[state]())]
    if not policies.may_decide(view.by, view.group):
        return [Offer(why=_("You only read; the owner or an admin can take this back."))]
    reach = reach_of(view)
    offers = [*_revoke(view, reach), *_again(view)]
    if reach.trash:
        offers.append(Offer("group-restore", restore_label(view), _before_restore(view, reach)))
    if not offers:
        offers += [Offer(why=why) for why in (_too_late(reach), out_of_reach(view) if reach.external else "") if why]
    return offers


def _fence(view: GroupView) -> list[Offer]:
    """Offer to have a call revoked when it arrives, or to take that back."""
    if view.can_fence:
        return [Offer("group-fence", _("Revoke it when it arrives…"))]
    return [Offer("group-fence-lift", _("Lift the fence…"))] if view.can_lift else []


def _revoke(view: GroupView, reach: Reach) -> list[Offer]:
    if reach.here:
        return [Offer("group-revoke", _("Revoke…"), before_revoke(view, reach))]
    if reach.asked:
        label = _("Ask {names} to undo…").format(names=", ".join(askable(view)))
        return [Offer("group-revoke", label, before_revoke(view, reach))]
    return []


def askable(view: GroupView) -> list[str]:
    """Return the systems that a revoke by whoever looks would ask now."""
    return sorted({one.target for one in view.rows.tallies if _position(view, one) == "asked"})


def _again(view: GroupView) -> list[Offer]:
    """Offer to ask again where nothing goes on by itself: refused, unknown, out of tries."""
    stuck = sum(view.counts.get(state, 0) for state in (EffectState.REFUSED, EffectState.UNKNOWN))
    if not stuck and not view.rows.asked.person:
        return []
    return [Offer("group-again", _("Try again…"), _("Nothing more happens by itself."))]


def _too_late(reach: Reach) -> str:
    words = ngettext(
        "The undo window of {n} is over as declared; only an admin may still ask.",
        "The undo windows of {n} are over as declared; only an admin may still ask.",
        reach.late,
    )
    return words.format(n=reach.late) if reach.late else ""


def before_revoke(view: GroupView, reach: Reach) -> str:
    """Return what to know before a revoke, in short sentences."""
    said = [_together(view, reach)] if reach.here else []
    if reach.asked:
        words = ngettext(
            "{n} is only requested: its target decides.", "{n} are only requested: their target decides.", reach.asked
        )
        said.append(words.format(n=reach.asked))
    if reach.none:
        said.append(ngettext("{n} cannot come back.", "{n} cannot come back.", reach.none).format(n=reach.none))
    if reach.late:
        said.append(_too_late(reach))
    if reach.external:
        said.append(out_of_reach(view))
    if view.open_conflicts:
        said.append(_("Cannot be called complete while the difference is open."))
    return " ".join(said)


def _together(view: GroupView, reach: Reach) -> str:
    here = [one for one in view.rows.tallies if _position(view, one) == "here"]
    trash = any(one.operation == Operation.CREATE for one in here)
    said = [_("Restorable from trash.") if trash else _("Restorable.")]
    if reach.here < reach.all:
        said.insert(0, _("{n} of {all} go together.").format(n=reach.here, all=reach.all))
    elif reach.here > 1:
        said.insert(0, _("All {n} go together.").format(n=reach.here))
    return " ".join(said)


def restore_label(view: GroupView) -> str:
    """Return what the button says that does again what the revoke has undone."""
    labels = {
        frozenset({Operation.UPDATE}): _("Change it again…"),
        frozenset({Operation.DELETE}): _("Delete it again…"),
    }
    return labels.get(view.revoked) or (
        _("Restore from trash…") if Operation.CREATE in view.revoked else _("Do it again…")
    )


def _before_restore(view: GroupView, reach: Reach) -> str:
    if Operation.CREATE not in view.revoked:
        return _("Does again what the revoke has undone.")
    words = ngettext(
        "Brings back {n} object under its old id.", "Brings back {n} objects under their old ids.", reach.trash
    )
    return words.format(n=reach.trash)


def out_of_reach(view: GroupView) -> str:
    """Say that members in other systems stay as they are."""
    names = ", ".join(sorted({one.target for one in view.rows.tallies if one.target and not one.askable}))
    return _("No admin has registered {names} yet; nothing is asked there.").format(names=names or _("their target"))


def flags_of(view: GroupView) -> list[str]:
    """Return what is odd about an action and must stand beside its name wherever it is shown."""
    group, said = view.group, [one.render(_) for one in view.decisions]
    if view.open_conflicts:
        words = ngettext(
            "{n} declared object is not held here", "{n} declared objects are not held here", view.more_declared
        )
        said.append(words.format(n=view.more_declared) if view.more_declared else _("A repeat declared it differently"))
    if group.declarations_not_kept:
        words = _("{n} more differing declarations were counted, not kept")
        said.append(words.format(n=group.declarations_not_kept))
    if group.again_after_revoke:
        said.append(_("Done again after it was revoked"))
    if group.repeats:
        words = _("Declared {n} times; whether it happened again is unknown")
        said.append(words.format(n=group.repeats + 1))
    held = view.rows.revocation.purge_held_why if view.rows.revocation else ""
    if held and view.counts.get(EffectState.REVOKED):
        said.append(_("Could not be purged, so it stays: {why}").format(why=visible(held)))
    return [*said, *_of_requests(view)]


def _of_requests(view: GroupView) -> list[str]:
    asked, said = view.rows.asked, []
    if asked.person:
        said.append(ngettext("{n} needs a person", "{n} need a person", asked.person).format(n=asked.person))
    if asked.suspended:
        words = ngettext(
            "{n} suspended: its target was changed since",
            "{n} suspended: their target was changed since",
            asked.suspended,
        )
        said.append(words.format(n=asked.suspended))
    return said
