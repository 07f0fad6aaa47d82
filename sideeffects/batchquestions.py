"""What is said before many actions are taken back, and before a batch is stopped, resumed, retried or restored?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.inert import visible
from sideeffects import batches
from sideeffects.batchsheets import Sheet
from sideeffects.models import Batch
from sideeffects.questions import Line
from sideeffects.transitions import Outcome

State = Batch.State


@dataclass(frozen=True)
class Question:
    """What is asked before something is done about a batch; without `can`, `why` says why there is nothing to do."""

    title: str
    lines: Sequence[Line]
    button: str
    done: str
    can: bool
    why: str
    is_grave: bool = False
    needs_reason: bool = False


def _some(*lines: Line) -> list[Line]:
    return [line for line in lines if line.count]


def _stop(sheet: Sheet) -> Question:
    totals = sheet.totals
    lines = _some(
        Line(
            totals.done, _("attempted: they stay as they are now"), _("What was asked of targets is not called back.")
        ),
        Line(totals.waiting, _("will not be attempted"), _("Until someone lets the batch go on.")),
    )
    return Question(
        title=_("Stop this batch?"),
        lines=lines,
        button=_("Stop it"),
        done=_("It is stopped. What was done stays done."),
        can=sheet.batch.state == State.WORKING,
        why=_("It does not work any more, so there is nothing to stop."),
        is_grave=True,
    )


def _resume(sheet: Sheet) -> Question:
    totals = sheet.totals
    lines = _some(
        Line(totals.waiting, _("will be attempted"), _("In the order in which they were frozen, the newest first.")),
        Line(totals.done, _("attempted before"), _("They are not touched again.")),
    )
    return Question(
        title=_("Let this batch go on?"),
        lines=lines,
        button=ngettext("Go on with {n} action", "Go on with {n} actions", totals.waiting).format(n=totals.waiting),
        done=_("It goes on where it was."),
        can=sheet.batch.state == State.STOPPED,
        why=_("It is not stopped, so there is nothing to go on with."),
    )


def _retry(sheet: Sheet) -> Question:
    failed, others = sheet.totals.failed, sheet.batch.groups - sheet.totals.failed
    again = _("What failed, and what was skipped for a reason that may have passed.")
    lines = _some(
        Line(failed, ngettext("will be tried again", "will be tried again", failed), again),
        Line(
            others,
            ngettext("stays as it is", "stay as they are", others),
            _("Done, or nothing a new try would change."),
        ),
    )
    return Question(
        title=_("Try again what did not go through?"),
        lines=lines,
        button=ngettext("Try {n} action again", "Try {n} actions again", failed).format(n=failed),
        done=_("It tries again."),
        can=bool(failed),
        why=_("Nothing in it could be tried again."),
    )


def _restore(sheet: Sheet) -> Question:
    back, working = sheet.totals.restorable, sheet.is_working
    none = _("Nothing that it revoked can be brought back.")
    return Question(
        title=_("Restore what this batch revoked?"),
        lines=back_lines(sheet, asking=True),
        button=ngettext("Restore {n} action", "Restore {n} actions", back).format(n=back),
        done=_("It brings them back now; this page says what came of each."),
        can=bool(back) and not working,
        why=_("Stop it first, or wait until it has finished.") if working else none,
        needs_reason=sheet.needs_reason,
    )


def back_lines(sheet: Sheet, *, asking: bool = False) -> list[Line]:
    """Say what a restore of a batch brings back, and what stays undone outside."""
    back = sheet.totals.restorable
    stay = sheet.batch.groups - back
    can = ngettext("action can be restored", "actions can be restored", back)
    will = ngettext("action will be restored", "actions will be restored", back)
    ids = _("Exactly what this batch removed here, under the old ids.")
    nothing = _("Nothing of them lies in the trash by this batch.")
    return _some(
        Line(back, will if asking else can, ids),
        *outside_lines(sheet.totals),
        Line(stay, ngettext("action stays as it is", "actions stay as they are", stay), nothing),
    )


def outside_lines(totals: batches.Totals) -> list[Line]:
    """Say of the objects that other systems hold how they stay: a restore asks nothing there."""
    counts = {outcome: totals.effects.get(outcome.value, 0) for outcome in Outcome}
    undone = counts[Outcome.CONFIRMED] + counts[Outcome.ATTESTED]
    still = counts[Outcome.REQUESTED] + counts[Outcome.NOT_SENT] + counts[Outcome.UNKNOWN]
    refused = counts[Outcome.REFUSED]
    word = _("By the target's word or a person's. A restore asks nothing of other systems.")
    asked = _("A restore does not call that back: what comes of it is there, not here.")
    return _some(
        Line(undone, ngettext("object stays undone outside", "objects stay undone outside", undone), word),
        Line(still, ngettext("object stays asked of its target", "objects stay asked of their targets", still), asked),
        Line(refused, ngettext("object stands outside", "objects stand outside", refused), _("The target refused.")),
    )


def came_back(sheet: Sheet) -> list[Line]:
    """Say what a batch that restores brought back by now, and what stays undone outside of the one it undoes."""
    back = sheet.totals.groups.get(Outcome.RESTORED.value, 0)
    objects = sheet.totals.effects.get(Outcome.RESTORED.value, 0)
    many = ngettext("{n} object, as it was then.", "{n} objects, as they were then.", objects).format(n=objects)
    outside = outside_lines(batches.totals(sheet.batch.of, now=sheet.now)) if sheet.batch.of else []
    return _some(Line(back, ngettext("action was restored", "actions were restored", back), many), *outside)


ABOUT: Mapping[str, Callable[[Sheet], Question]] = {
    "stop": _stop,
    "resume": _resume,
    "retry": _retry,
    "restore": _restore,
}


@dataclass(frozen=True)
class Offer:
    """One thing that may be done about a batch, by the question that is asked first."""

    endpoint: str
    label: str


def offers(sheet: Sheet) -> list[Offer]:
    """Return what may be done about a batch as it stands, by this person."""
    failed, back = sheet.totals.failed, sheet.totals.restorable
    again = ngettext("Try {n} again…", "Try {n} again…", failed).format(n=failed)
    able = {
        "stop": (sheet.batch.state == State.WORKING, _("Stop…")),
        "resume": (sheet.batch.state == State.STOPPED, _("Go on…")),
        "retry": (bool(failed) and not sheet.is_working, again),
        "restore": (bool(back) and not sheet.is_working and not sheet.is_restore, _("Restore what it revoked…")),
    }
    return [Offer(f"batch-{verb}", label) for verb, (can, label) in able.items() if can]


@dataclass(frozen=True)
class Before:
    """What taking back a selection would come to, by the numbers that a look at it found."""

    preview: batches.Preview

    @property
    def here(self) -> int:
        """Return how many objects would be taken back here."""
        return int(self.preview.by_class["here"])

    @property
    def asked(self) -> int:
        """Return how many objects would only be requested of their targets."""
        return sum(self.preview.by_class["asked"].values())

    @property
    def can(self) -> bool:
        """Say whether anything would be taken back here or asked of a target."""
        return bool(self.here or self.asked)

    @property
    def why(self) -> str:
        """Say why there is nothing to confirm."""
        if not self.preview.groups:
            return _("No action that you may take back meets this.")
        return _("Nothing of these can be taken back now.")

    @property
    def button(self) -> str:
        """Say what the click will do."""
        if not self.asked:
            return ngettext("Revoke {n} object", "Revoke {n} objects", self.here).format(n=self.here)
        if not self.here:
            return ngettext("Ask about {n} object", "Ask about {n} objects", self.asked).format(n=self.asked)
        return _("Revoke {here} here, ask about {asked}").format(here=self.here, asked=self.asked)

    @cached_property
    def lines(self) -> list[Line]:
        """Return what would become of the objects, one line a fate: together they are all of them."""
        found, classes = self.preview, self.preview.by_class
        asked = [
            Line(
                number,
                _("will only be requested of {name}").format(name=visible(name)),
                _("It decides; the outcome is there, not here."),
            )
            for name, number in sorted(classes["asked"].items())
        ]
        out = [
            Line(
                number,
                _("stay as they are in {name}").format(name=visible(name)),
                _("Nothing may be asked of it: no admin has registered it."),
            )
            for name, number in sorted(classes["out of reach"].items())
        ]
        known = self.here + classes["not revocable"] + sum(line.count for line in (*asked, *out))
        gone = _("Taken back, asked about or gone before; not touched again.")
        return _some(
            Line(
                self.here,
                _("will be taken back here"),
                _("What was created goes to the trash, restorable under the same ids."),
            ),
            *asked,
            *out,
            Line(classes["not revocable"], _("cannot come back"), _("Their tools declare no way back; they stay.")),
            Line(found.effects - known, _("not standing any more"), gone),
        )

    @property
    def cautions(self) -> list[Line]:
        """Return what is to be known of the actions besides."""
        return [*self._states(), *self._windows(), *self._since()]

    def _states(self) -> list[Line]:
        found = self.preview
        flight = _("Skipped: what they write is not known before they land. They can be tried again then.")
        conflict = _("What is held is taken back; a person still has to decide about the rest.")
        return _some(
            Line(found.in_flight, ngettext("action is in flight", "actions are in flight", found.in_flight), flight),
            Line(
                found.failed,
                ngettext("action wrote nothing", "actions wrote nothing", found.failed),
                _("By the agent's word."),
            ),
            Line(
                found.already,
                ngettext("action has nothing left to do", "actions have nothing left to do", found.already),
                _("Taken back before, not by this."),
            ),
            Line(
                found.conflicts, ngettext("action has a conflict", "actions have a conflict", found.conflicts), conflict
            ),
        )

    def _windows(self) -> list[Line]:
        windows = self.preview.windows
        over = _("As declared; its target may refuse.")
        late = _("Only an admin may still ask for these.")
        return _some(
            Line(windows.over, ngettext("undo window is over", "undo windows are over", windows.over), late),
            Line(
                windows.soon,
                ngettext("undo window closes within the hour", "undo windows close within the hour", windows.soon),
                over,
            ),
        )

    def _since(self) -> list[Line]:
        edited, outside = self.preview.edited, self.preview.built_on_outside
        changed = _("Skipped: nothing is taken back over what someone changed. Each can be looked at on its own page.")
        build = _("What they build on is skipped, unless you say otherwise below.")
        return _some(
            Line(edited or 0, ngettext("action was changed since", "actions were changed since", edited or 0), changed),
            Line(
                outside or 0,
                ngettext(
                    "action outside of this builds on these", "actions outside of this build on these", outside or 0
                ),
                build,
            ),
        )

    @property
    def is_too_many_to_look(self) -> bool:
        """Say whether it was not looked at what was changed since and what builds on these."""
        return self.preview.edited is None
