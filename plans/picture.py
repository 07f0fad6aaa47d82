"""Where does each part of a plan's picture stand? Numbers for the SVG, and the same in words for the table."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from plans.core.counterexample import Counterexample
from plans.core.sentences import Remark
from plans.core.timeline import Span, Timeline
from plans.core.verdict import Verdict
from plans.core.words import inert, span

DRAWN = 60  # steps in the picture; the table names more
LISTED = 500  # steps in the table
LEFT, RIGHT, ROW, TOP = 210, 890, 50, 26
LEAST = 4  # a bar's width, however short the step
WORD = 80  # the width of words at the axis
LABEL = 26  # characters beside a bar


@dataclass(frozen=True)
class Row:
    """One step of the picture. Horizontal places in SVG units; None where there is nothing to draw."""

    label: str
    y: int
    x: int
    width: int
    torn: bool  # a wait without a bound: its end is a torn edge
    window_x: int | None
    window_width: int
    broken: bool  # the window closes before the pivot begins
    goes_on: bool  # the window closes later than the picture ends
    window_words: str
    words_x: int
    words_left: bool
    planned: bool = False  # it has not begun: drawn as an outline


@dataclass(frozen=True)
class Picture:
    """The whole picture."""

    rows: tuple[Row, ...]
    height: int
    pivot_x: int | None
    pivot_words_left: bool
    axis_y: int
    ticks: tuple[tuple[int, str, str], ...]  # place, words, which side of the place they stand at
    caption: str
    left_out: int
    now_x: int | None = None
    left: int = LEFT
    right: int = RIGHT


def of(verdict: Verdict) -> Picture | None:
    """Draw the counterexample of a refused plan, else its worst case; None where the plan cannot be read."""
    line = verdict.timeline
    if line is None:
        return None
    example = verdict.counterexample
    begins, ends = _moments(line, example)
    closing = example.closes if example else 0
    scale = Scale(max(*ends, closing, 1))
    drawn = [_row(line, index, begins, ends, scale) for index in range(min(len(line.steps), DRAWN))]
    pivot = None if line.pivot is None or line.pivot >= DRAWN else scale.x(begins[line.pivot])
    bottom = TOP + ROW * len(drawn)
    return Picture(
        rows=tuple(drawn),
        height=bottom + 30,
        pivot_x=pivot,
        pivot_words_left=pivot is not None and pivot > RIGHT - 60,
        axis_y=bottom,
        ticks=ticks(scale, [closing or _reach(line), 0 if _is_open(line) else max(ends)]),
        caption=example.sentence if example else _caption(line),
        left_out=len(line.steps) - len(drawn),
    )


class Scale:
    """Seconds to SVG units; the last hundredth is kept for what goes on."""

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def x(self, moment: int) -> int:
        """Return the place of a moment."""
        return LEFT + min(moment, self.longest * 2) * (RIGHT - LEFT) * 96 // (100 * self.longest)


def _moments(line: Timeline, example: Counterexample | None) -> tuple[list[int], list[int]]:
    """Return when each step begins and ends in the execution that is drawn."""
    begins, ends = (list(example.begins), list(example.ends)) if example else ([], [])
    known = [step.duration for step in line.steps if step.duration is not None]
    windows = [step.window for step in line.steps if step.window is not None]
    nominal = max(max(ends, default=0) // 8, sum(known) // 3, min(windows, default=0) // 3, 1)  # an open end, as drawn
    for step in line.steps[len(begins) :]:
        begin = ends[-1] if ends else 0
        begins.append(begin)
        ends.append(begin + (nominal if step.duration is None else step.duration))
    return begins, ends


def _row(line: Timeline, index: int, begins: list[int], ends: list[int], scale: Scale) -> Row:
    step, begin, end = line.steps[index], scale.x(begins[index]), scale.x(ends[index])
    width = max(LEAST, end - begin)
    broken, goes_on, window_end, words = False, False, 0, ""
    if step.window is not None and line.pivot is not None:
        closes = begins[index] + step.window
        broken = closes < begins[line.pivot]
        goes_on, window_end = scale.x(closes) > RIGHT, min(scale.x(closes), RIGHT)
        told = _("window closes after {span}") if broken else _("window: {span}")
        words = told.format(span=span(step.window))
    edge = max(begin + width, window_end)
    return Row(
        label=short(f"{step.id} {step.tool}"),
        y=TOP + ROW * index,
        x=begin,
        width=width,
        torn=step.duration is None,
        window_x=begin if words else None,
        window_width=max(LEAST, window_end - begin),
        broken=broken,
        goes_on=goes_on,
        window_words=words,
        words_x=begin + 6 if edge > RIGHT - 170 else edge + 6,
        words_left=edge > RIGHT - 170,
    )


def short(text: str) -> str:
    """Return an author's text as it fits beside a bar."""
    shown = inert(text)
    return shown if len(shown) <= LABEL else shown[: LABEL - 1] + "…"


def _reach(line: Timeline) -> int:
    return line.reach or 0


def _is_open(line: Timeline) -> bool:
    """Say whether some step has no bound: then nobody knows where the end is."""
    return any(step.duration is None for step in line.steps)


def ticks(scale: Scale, moments: list[int]) -> tuple[tuple[int, str, str], ...]:
    """Return the words at the axis, as far as they stand apart."""
    marks = [(LEFT, _("start"), "start")]
    for moment in moments:
        place = scale.x(moment)
        if moment and place - marks[-1][0] > WORD:
            marks.append((place, span(moment), "end" if place > RIGHT - WORD else "start"))
    return tuple(marks)


def _caption(line: Timeline) -> str:
    if _is_open(line):
        return _("The worst case, every step as long as it may take. A torn edge has no bound: it may go on for ever.")
    return _("The worst case: every step takes as long as it may.")


@dataclass(frozen=True)
class Line:
    """One step of the table."""

    index: int
    id: str
    tool: str
    kind: str
    duration: str
    window: str
    need: str
    latest: str
    fate: str
    refused_by: tuple[str, ...]  # rules
    warned_of: tuple[str, ...]


def lines(verdict: Verdict) -> list[Line]:
    """Return the table: what the picture shows, and every remark at its step."""
    line = verdict.timeline
    if line is None:
        return []
    refused, warned = _by_step(verdict.violations), _by_step(verdict.warnings)
    return [
        _line(index, step, line.pivot, tuple(refused.get(index, ())), tuple(warned.get(index, ())))
        for index, step in enumerate(line.steps[:LISTED])
    ]


def _by_step(remarks: list[Remark]) -> dict[int, dict[str, None]]:
    found: dict[int, dict[str, None]] = {}
    for remark in remarks:
        if len(remark.path) > 1 and remark.path[0] == "steps" and isinstance(remark.path[1], int):
            found.setdefault(remark.path[1], {})[remark.rule] = None
    return found


def _line(index: int, step: Span, pivot: int | None, refused: tuple[str, ...], warned: tuple[str, ...]) -> Line:
    before = pivot is not None and index < pivot
    kind = _("{kind} (pivot)").format(kind=step.kind) if index == pivot else step.kind
    return Line(
        index=index,
        id=inert(step.id),
        tool=inert(step.tool),
        kind=kind,
        duration=_("not declared") if step.duration is None else span(step.duration),
        window=span(step.window) if step.window is not None else (_("not declared") if before else ""),
        need=(_("unbounded") if step.need is None else span(step.need)) if before else "",
        latest=_("unbounded") if step.latest is None else span(step.latest),
        fate=_fate(step),
        refused_by=refused,
        warned_of=warned,
    )


def _fate(step: Span) -> str:
    if step.fate == "fits" and step.slack is not None:
        return _("fits, {span} to spare").format(span=span(step.slack)) if step.slack else _("fits exactly")
    words = {
        "short": _("window too short"),
        "unbounded": _("window can lapse"),
        "no window": _("taken as never closing"),
    }
    return words.get(step.fate, "")
