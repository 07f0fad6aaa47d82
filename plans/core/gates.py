"""May this step begin now? Decided from the plan, what has run, and the time; nothing else is asked.

Every refusal names the window that closes next and when, where one is open.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from plans.core import windows
from plans.core.script import Ran, RunState, Script, Step
from plans.core.words import euros, inert, span, taken

Past = Mapping[int, Ran]


class GateClosedError(Exception):
    """A step may not begin. `window` and `closes_at` name the undo window that closes next (or closed last)."""

    def __init__(self, step: Step, said: str, script: Script, ran: Past, now: datetime) -> None:
        self.step, self.at = step.id, now
        window = windows.next_to_close(script, ran, now)
        self.window = window.step.id if window else None
        self.closes_at = window.closes_at if window else None
        super().__init__(said)


class AlreadyBegunError(GateClosedError):
    """The step has begun: whoever asked first carries it out."""


class OutOfOrderError(GateClosedError):
    """A step before it has not been completed."""


class MandateExpiredError(GateClosedError):
    """The mandate has ended."""


class OverMandateError(GateClosedError):
    """What is left of the mandate does not cover the step."""


class StepOverdueError(GateClosedError):
    """A step took longer than it declared, so the plan's promise no longer holds."""


class WindowWouldLapseError(GateClosedError):
    """Beginning now, an undo window could close before the pivot begins."""


class WindowLapsedError(GateClosedError):
    """An undo window has closed, so the step behind it could not be taken back any more."""


def overdue(step: Step, one: Ran | None, now: datetime) -> bool:
    """Say whether a step took, or is taking, longer than it declared. Exactly as long is in time."""
    due = windows.after(one.begun_at, step.duration) if one is not None else None
    if one is None or due is None or one.state not in windows.HELD:
        return False
    return (one.ended_at or now) > due


def lapsed(step: Step, one: Ran | None, now: datetime) -> bool:
    """Say whether an approval has waited past its deadline: silence has decided nothing, and may be asked anew."""
    return step.human and one is not None and one.state is RunState.BEGUN and overdue(step, one, now)


def next_step(script: Script, ran: Past) -> Step | None:
    """Return the first step that is not completed; None where all are."""
    return next((step for step in script.steps if not _is_done(ran.get(step.index))), None)


def check_begin(script: Script, ran: Past, step: Step, *, now: datetime, elsewhere: Decimal) -> None:
    """Let a step begin; raises GateClosedError. `elsewhere` is what other executions of the plan have spent."""
    now = windows.moment(ran, now)
    _check_first(script, ran, step, now)
    ran = {index: one for index, one in ran.items() if index != step.index}  # an earlier try of it holds no window
    if now >= script.expires_at:
        raise MandateExpiredError(step, f"The mandate ended at {_at(script.expires_at)}.", script, ran, now)
    if step.index <= script.pivot:
        _check_kept(script, ran, step, now)
    _check_order(script, ran, step, now)
    if step.index <= script.pivot:
        _check_windows(script, ran, step, now)
    _check_mandate(script, ran, step, now, elsewhere)


def _check_first(script: Script, ran: Past, step: Step, now: datetime) -> None:
    one = ran.get(step.index)
    if one is None or one.state is RunState.WITHDRAWN or lapsed(step, one, now):
        return
    again = one.state is RunState.FAILED and step.index > script.pivot and step.kind == "retriable"
    if not again:
        said = f"{inert(step.id)} began at {_at(one.begun_at)} and is {one.state.value}; it begins once."
        raise AlreadyBegunError(step, said, script, ran, now)


def _check_kept(script: Script, ran: Past, step: Step, now: datetime) -> None:
    for earlier in script.steps[: step.index]:
        one = ran.get(earlier.index)
        if one is not None and earlier.duration is not None and overdue(earlier, one, now):
            took = taken(((one.ended_at or now) - one.begun_at).total_seconds(), earlier.duration)
            late = f"{inert(earlier.id)} declared at most {span(earlier.duration)} and has taken {took}"
            raise StepOverdueError(step, f"{late}{_closing(script, ran, now)}. Roll back now.", script, ran, now)


def _check_order(script: Script, ran: Past, step: Step, now: datetime) -> None:
    for earlier in script.steps[: step.index]:
        if not _is_done(ran.get(earlier.index)):
            raise OutOfOrderError(step, f"{inert(earlier.id)} comes first and is not completed.", script, ran, now)


def _is_done(one: Ran | None) -> bool:
    return one is not None and one.state is RunState.COMPLETED


def _check_windows(script: Script, ran: Past, step: Step, now: datetime) -> None:
    latest = windows.latest_begin(script, ran, step.index)
    if latest is None or now <= latest[0]:
        return
    window = latest[1]
    name, closes = inert(window.step.id), _at(window.closes_at)
    if window.closes_at < now:
        said = f"The undo window of {name} closed at {closes}: {inert(step.id)} would begin with no way back for it."
        lapsed_one = WindowLapsedError(step, said, script, ran, now)
        lapsed_one.window, lapsed_one.closes_at = window.step.id, window.closes_at
        raise lapsed_one
    need = script.until_pivot(step.index)
    rest = "no bound" if need is None else f"up to {span(need)}"
    said = (
        f"The undo window of {name} closes at {closes}, in {span(int((window.closes_at - now).total_seconds()))}; "
        f"from {inert(step.id)} to the pivot it takes {rest}, so it could close before. Roll back now."
    )
    raise WindowWouldLapseError(step, said, script, ran, now)


def _check_mandate(script: Script, ran: Past, step: Step, now: datetime, elsewhere: Decimal) -> None:
    left = remaining(script, ran, elsewhere=elsewhere)
    if step.spend <= left:
        return
    said = f"{inert(step.id)} may spend {euros(step.spend)}; {euros(left)} of {euros(script.cap)} are left."
    if left < 0:
        said = f"The mandate of {euros(script.cap)} is overspent by {euros(-left)}, so {inert(step.id)} may not begin."
    if step.index > script.pivot:
        said += " Past the pivot there is no rollback: stop the execution; what is done stands."
    raise OverMandateError(step, said, script, ran, now)


def remaining(script: Script, ran: Past, *, elsewhere: Decimal) -> Decimal:
    """Return what is left of the mandate: the cap less what is reserved and what was spent, each step once."""
    return script.cap - elsewhere - sum((one.held for one in ran.values()), Decimal(0))


def _closing(script: Script, ran: Past, now: datetime) -> str:
    window = windows.next_to_close(script, ran, now)
    if window is None:
        return ""
    verb = "closes" if window.closes_at >= now else "closed"
    return f"; the undo window of {inert(window.step.id)} {verb} at {_at(window.closes_at)}"


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def cautions(script: Script, ran: Past, step: Step, *, now: datetime) -> list[str]:
    """Return what should be known before a step begins: windows that it leaves little of, or that a rollback needs."""
    now = windows.moment(ran, now)
    if step.index > script.pivot:
        return []
    need = script.until_pivot(step.index) or 0
    pivot = script.steps[script.pivot]
    said = []
    for window in windows.held(script, ran):
        spare = (window.closes_at - now - timedelta(seconds=need)).total_seconds()
        name = inert(window.step.id)
        if spare < 0 or window.closes_at < now:
            continue  # that is a refusal, not a warning
        if pivot.duration is None:
            said.append(f"The pivot declares no bound, so the undo window of {name} may close while it runs.")
        elif spare < pivot.duration:
            said.append(f"The undo window of {name} may close while the pivot runs.")
        if now + timedelta(seconds=need) >= window.perishes_at:
            said.append(f"Begun now, the undo window of {name} has {span(int(spare))} to spare.")
    return said
