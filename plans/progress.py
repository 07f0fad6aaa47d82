"""Where does each part of an execution's picture stand? The plan's picture with what really ran, and "now" on it."""

from datetime import datetime

from django.utils.translation import gettext as _

from plans.core.script import RunState, Step
from plans.core.words import span
from plans.outlook import Outlook, StepView
from plans.picture import DRAWN, LEAST, RIGHT, ROW, TOP, Picture, Row, Scale, short, ticks


def of(view: Outlook) -> Picture:
    """Draw what has run, what is running until now, and what is to come as long as it may take."""
    zero = view.row.started_at
    now = _seconds(view.row.ended_at or view.at, zero)
    spans = _spans(view, zero, now)
    closings = [_seconds(one.window.closes_at, zero) for one in view.steps if one.window is not None]
    longest = max([now, *(end for _begin, end in spans), min(closings, default=0), 1])
    scale = Scale(longest)
    drawn = view.steps[:DRAWN]
    rows = [_row(one, index, spans[index], zero, scale) for index, one in enumerate(drawn)]
    bottom, pivot = TOP + ROW * len(drawn), view.course.script.pivot
    pivot_x = scale.x(spans[pivot][0]) if pivot < len(drawn) else None
    return Picture(
        rows=tuple(rows),
        height=bottom + 30,
        pivot_x=pivot_x,
        pivot_words_left=pivot_x is not None and pivot_x > RIGHT - 60,
        axis_y=bottom,
        ticks=ticks(scale, sorted({now, min(closings, default=0)})),
        caption=_("Bars are what ran; outlines are still to come, as long as they may take. Bands are undo windows."),
        left_out=len(view.steps) - len(drawn),
        now_x=scale.x(now) if view.row.ended_at is None else None,
    )


def _seconds(at: datetime, zero: datetime) -> int:
    return max(0, int((at - zero).total_seconds()))


def _spans(view: Outlook, zero: datetime, now: int) -> list[tuple[int, int]]:
    """Return begin and end of each step, in seconds: as it was, or as it may be at worst from now on."""
    found: list[tuple[int, int]] = []
    nominal = max(1, now // 4)  # an end that nothing bounds, as drawn
    before = now  # when the next step begins at worst
    for one in view.steps:
        if one.run is None or one.run.state == RunState.WITHDRAWN:
            found.append((before, before + _longest(one.step, nominal)))
            before = found[-1][1]
            continue
        begin = _seconds(one.run.begun_at, zero)
        found.append((begin, _seconds(one.run.ended_at, zero) if one.run.ended_at else max(now, begin)))
        if one.run.ended_at is None:
            before = max(now, begin + _longest(one.step, nominal))
    return found


def _longest(step: Step, nominal: int) -> int:
    return nominal if step.duration is None else step.duration


def _row(one: StepView, index: int, times: tuple[int, int], zero: datetime, scale: Scale) -> Row:
    begin, end = scale.x(times[0]), scale.x(times[1])
    width, window_end, closes = max(LEAST, end - begin), 0, 0
    if one.window is not None:
        closes = _seconds(one.window.closes_at, zero)
        window_end = min(scale.x(closes), RIGHT)
    edge = max(begin + width, window_end)
    planned = one.run is None or one.run.state == RunState.WITHDRAWN
    return Row(
        label=short(f"{one.step.id} {one.step.tool}"),
        y=TOP + ROW * index,
        x=begin,
        width=width,
        torn=one.run is not None and one.run.state == RunState.BEGUN and one.step.duration is None,
        window_x=begin if one.window is not None else None,
        window_width=max(LEAST, window_end - begin),
        broken=one.window is not None and not one.is_live,
        goes_on=one.window is not None and scale.x(closes) > RIGHT,
        window_words=_words(one),
        words_x=begin + 6 if edge > RIGHT - 170 else edge + 6,
        words_left=edge > RIGHT - 170,
        planned=planned,
    )


def _words(one: StepView) -> str:
    if one.seconds_left is None:
        return ""
    if one.seconds_left < 0:
        return _("window closed {span} ago").format(span=span(-one.seconds_left))
    return _("window: {span} left").format(span=span(one.seconds_left))
