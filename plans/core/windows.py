"""Which undo windows are open, which closes next, and by when must a step begin? By instants, never by local time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from plans.core.script import Ran, RunState, Script, Step

LONGEST_NOTICE = 3600  # seconds before its end from which a window is called closing; a short one from its last quarter
HELD = frozenset({RunState.BEGUN, RunState.COMPLETED})


@dataclass(frozen=True)
class Window:
    """The undo window of a step that began: a compensation asked for at `closes_at` is still in time."""

    step: Step
    opened_at: datetime
    closes_at: datetime

    @property
    def perishes_at(self) -> datetime:
        """Return from when on it is closing."""
        length = int((self.closes_at - self.opened_at).total_seconds())
        return self.closes_at - timedelta(seconds=min(LONGEST_NOTICE, length // 4))


def after(begin: datetime, seconds: int | None) -> datetime | None:
    """Return the instant so many seconds later, in UTC; None for no bound, and where no calendar reaches."""
    if seconds is None:
        return None
    try:
        return begin.astimezone(UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None


def moment(ran: Mapping[int, Ran], now: datetime) -> datetime:
    """Return what time it is: never before what has happened, though the clock may have been put back."""
    past = [at for one in ran.values() for at in (one.begun_at, one.ended_at) if at is not None]
    return max([now, *past]).astimezone(UTC)


def held(script: Script, ran: Mapping[int, Ran]) -> list[Window]:
    """Return the windows that have opened before the pivot, next to close first, closed ones too."""
    found = []
    for step in script.steps[: script.pivot]:
        one = ran.get(step.index)
        if one is not None and one.state in HELD:
            closes = after(one.begun_at, step.window)
            if closes is not None:
                found.append(Window(step, one.begun_at.astimezone(UTC), closes))
    return sorted(found, key=lambda window: window.closes_at)


def next_to_close(script: Script, ran: Mapping[int, Ran], now: datetime) -> Window | None:
    """Return the open window that closes next, else the one that closed last; None where none was opened."""
    windows = held(script, ran)
    return next((one for one in windows if one.closes_at >= now), windows[-1] if windows else None)


def latest_begin(script: Script, ran: Mapping[int, Ran], index: int) -> tuple[datetime, Window] | None:
    """Return until when a step up to the pivot may begin, and the window that says so; None where nothing does."""
    windows = held(script, ran)
    need = script.until_pivot(index)
    if index > script.pivot or not windows:
        return None
    # A wait without a bound under an open window is what the validator refuses; here it never fits.
    latest = windows[0].opened_at if need is None else windows[0].closes_at - timedelta(seconds=need)
    return latest, windows[0]
