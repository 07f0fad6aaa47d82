"""What may whoever looks do about an action now: which button, what to know before, or why there is none?"""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sideeffects import policies
from sideeffects.presenters import GroupView
from sideeffects.transitions import EffectState, GroupState, RevokeClass


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

    @property
    def all(self) -> int:
        """Return how many members there are."""
        return self.here + self.asked + self.external + self.none + self.trash + self.others


def reach_of(view: GroupView) -> Reach:
    """Count the members of a group by how far a revoke gets now."""
    standing = {RevokeClass.LOCAL: 0, RevokeClass.EXTERNAL: 0, RevokeClass.NONE: 0}
    trash = others = asked = 0
    for one in view.rows.tallies:
        if one.state == EffectState.ACTIVE and one.revoke_class == RevokeClass.EXTERNAL and one.askable:
            asked += one.count
        elif one.state == EffectState.ACTIVE:
            standing[RevokeClass(one.revoke_class)] += one.count
        elif one.state == EffectState.REVOKED:
            trash += one.count
        else:
            others += one.count
    here, external, none = standing.values()
    return Reach(here, asked, external, none, trash, others)


_NOT_LANDED = {
    GroupState.OPEN: lambda: _("It has not landed: what it wrote is not known yet."),
    GroupState.LOST: lambda: _("It may still land: what it wrote is not known."),
    GroupState.FAILED: lambda: _("There is nothing to take back."),
}


def offers_of(view: GroupView) -> list[Offer]:
    """Return the buttons for this person, or one offer without a button that says why there is none."""
    state = GroupState(view.group.state)
    if state in _NOT_LANDED:
        return [Offer(why=_NOT_LANDED[state]())]
    if not policies.may_decide(view.by, view.group):
        return [Offer(why=_("You only read; the owner or an admin can take this back."))]
    reach = reach_of(view)
    offers = []
    if reach.here:
        offers.append(Offer("group-revoke", _("Revoke…"), before_revoke(view, reach)))
    elif reach.asked:
        label = _("Ask {names} to undo…").format(names=", ".join(view.targets))
        offers.append(Offer("group-revoke", label, before_revoke(view, reach)))
    if reach.trash:
        offers.append(Offer("group-restore", _("Restore from trash…"), _before_restore(reach)))
    if not offers and reach.external:
        offers.append(Offer(why=out_of_reach(view)))
    return offers


def before_revoke(view: GroupView, reach: Reach) -> str:
    """Return what to know before a revoke, in short sentences."""
    said = [_together(reach)] if reach.here else []
    if reach.asked:
        words = ngettext(
            "{n} is only requested: its target decides.", "{n} are only requested: their target decides.", reach.asked
        )
        said.append(words.format(n=reach.asked))
    if reach.none:
        said.append(ngettext("{n} cannot come back.", "{n} cannot come back.", reach.none).format(n=reach.none))
    if reach.external:
        said.append(out_of_reach(view))
    if view.open_conflicts:
        said.append(_("Cannot be called complete while the difference is open."))
    return " ".join(said)


def _together(reach: Reach) -> str:
    if reach.here == reach.all:
        words = ngettext("Restorable from trash.", "All {n} go together. Restorable from trash.", reach.here)
    else:
        words = _("{n} of {all} go together. Restorable from trash.")
    return words.format(n=reach.here, all=reach.all)


def _before_restore(reach: Reach) -> str:
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
    group, said = view.group, []
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
    return said
