"""What is asked before a batch is stopped, resumed, retried or restored, and what is said of it afterwards?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sideeffects import batches
from sideeffects.batches.sheets import Sheet
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


def some(*lines: Line) -> list[Line]:
    """Return the lines that count something."""
    return [line for line in lines if line.count]


def _stop(sheet: Sheet) -> Question:
    totals = sheet.totals
    lines = some(
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
    lines = some(
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
    lines = some(
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
    return some(
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
    return some(
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
    return some(Line(back, ngettext("action was restored", "actions were restored", back), many), *outside)


def afterwards(sheet: Sheet) -> list[Line]:
    """Say what can be, or was, brought back, and what stays outside; none while it works, or where nothing is."""
    if sheet.is_working or not (sheet.is_restore or sheet.totals.restorable or sheet.totals.asked_outside):
        return []
    return came_back(sheet) if sheet.is_restore else back_lines(sheet)


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
