"""What do pages and the API say of an execution now: what runs, what closes next, and what may be done about it?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from plans import courses, policies
from plans.core import gates, windows
from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState, Step
from plans.core.windows import Window
from plans.core.words import inert, span, taken
from plans.courses import Course
from plans.models import Approval, Decision, Execution, StepRun
from sideeffects import presenters, queries
from sideeffects.actors import Actor
from sideeffects.models import Group
from sideeffects.presenters import GroupView
from sideeffects.services.refuse import name_of
from sideeffects.transitions import Outcome, weakest


@dataclass(frozen=True)
class Block:
    """Why the next step may not begin."""

    refusal: str
    detail: str
    window: str | None = None
    closes_at: datetime | None = None


@dataclass(frozen=True)
class StepView:
    """One step of the plan, and the newest try of it."""

    step: Step
    run: StepRun | None
    key: str
    window: Window | None
    view: GroupView | None  # the action that holds what it wrote
    now: datetime
    overdue: bool
    is_pivot: bool

    @property
    def id(self) -> str:
        """Return its id, inert."""
        return inert(self.step.id)

    @property
    def tool(self) -> str:
        """Return its tool, inert."""
        return inert(self.step.tool)

    @property
    def state(self) -> str:
        """Return where it stands, in one word or two."""
        if self.run is None:
            return "not begun"
        return "waiting" if self.step.human and self.run.state == RunState.BEGUN else str(self.run.state)

    @property
    def how_far(self) -> str:
        """Return how far taking it back could get, by its first object's class."""
        if self.view is None or self.view.principal is None:
            return _("Nothing was declared, so nothing is known that could be taken back")
        return presenters.how_far(self.view.principal)

    @property
    def undone(self) -> str:
        """Return what undoing it has come to by now; as it was answered where nothing has moved since."""
        if self.run is None or not self.run.undone or self.view is None:
            return "" if self.run is None else self.run.undone
        by_now = weakest(Outcome(name) for name in self.view.outcomes)
        return self.run.undone if by_now is Outcome.NOT_ATTEMPTED else by_now.value

    @property
    def undone_detail(self) -> str:
        """Return what else was answered, where that is how it stands."""
        return self.run.undone_detail if self.run is not None and self.undone == self.run.undone else ""

    @property
    def seconds_left(self) -> int | None:
        """Return how long its window is still open by the server's clock; negative where it has closed."""
        return None if self.window is None else int((self.window.closes_at - self.now).total_seconds())

    @property
    def is_live(self) -> bool:
        """Say whether its window is open."""
        return self.window is not None and self.window.closes_at >= self.now

    @property
    def approval(self) -> Approval | None:
        """Return what a person is asked about it."""
        return self.run.approval if self.run is not None and self.run.human else None

    @property
    def decision(self) -> Decision | None:
        """Return what a person decided."""
        return getattr(self.approval, "decision", None)

    @property
    def is_open(self) -> bool:
        """Say whether a person can still decide."""
        return self.state == "waiting" and self.approval is not None and self.now <= self.approval.deadline

    @property
    def deadline(self) -> datetime | None:
        """Return until when it may run, or a decision counts."""
        return self.approval.deadline if self.approval is not None else self.run.due_at if self.run else None

    @property
    def tone(self) -> str:
        """Return how its state is drawn. No check mark: completed is the agent's word."""
        if self.overdue or self.state in {"failed", "declined"}:
            return "refused"
        return {"begun": "flight", "waiting": "flight", "completed": "standing"}.get(self.state, "none")


@dataclass
class Outlook:
    """An execution as it is shown to someone at an instant."""

    course: Course
    by: Actor
    now: datetime
    views: dict[UUID, GroupView]

    @property
    def row(self) -> Execution:
        """Return the row itself."""
        return self.course.row

    @property
    def state(self) -> ExecutionState:
        """Return where it stands."""
        return self.course.state

    @cached_property
    def at(self) -> datetime:
        """Return the time by which is decided: never before what has happened."""
        return windows.moment(self.course.ran, self.now)

    @cached_property
    def steps(self) -> list[StepView]:
        """Return every step in order."""
        held = {window.step.index: window for window in windows.held(self.course.script, self.course.ran)}
        return [self._step(step, held.get(step.index)) for step in self.course.script.steps]

    def _step(self, step: Step, window: Window | None) -> StepView:
        run, one = self.course.runs.get(step.index), self.course.ran.get(step.index)
        view = self.views.get(run.group_id) if run is not None and run.group_id else None
        key, late = self.course.key(step), gates.overdue(step, one, self.at)
        return StepView(step, run, key, window, view, self.at, late, step.index == self.course.script.pivot)

    def of(self, name: str) -> StepView:
        """Return one step; raises NotFoundError."""
        return self.steps[self.course.step(name).index]

    @property
    def standing_effects(self) -> list[StepView]:
        """Return the steps whose actions are held here, newest first: after the pivot, what stands."""
        return [one for one in reversed(self.steps) if one.view is not None]

    @cached_property
    def next(self) -> StepView | None:
        """Return the first step that is not completed, while it runs."""
        step = gates.next_step(self.course.script, self.course.ran)
        return None if step is None or self.state is not ExecutionState.RUNNING else self.steps[step.index]

    @cached_property
    def block(self) -> Block | None:
        """Return why it cannot go on: the next step may not begin, or what runs has taken too long."""
        following = self.next
        if following is None:
            return None
        if following.run is not None and following.run.state == RunState.BEGUN:
            if following.state == "waiting" and not following.is_open and not following.overdue:
                return Block("mandate-expired", _("The mandate has ended, so nobody can approve any more."))
            return self._overdue(following) if following.overdue and not self.course.pivot_crossed else None
        return self._closed(following.step)

    def _overdue(self, following: StepView) -> Block:
        window = self.closing
        took, most = self._taken(following), span(following.step.duration or 0)
        if following.step.human:
            detail = _("Nobody has decided about {step} in time: it may wait {most}, and it has been {took}.")
        else:
            detail = _("{step} declared at most {most} and has taken {took}.")
        return Block(
            "deadline-passed" if following.step.human else "step-overdue",
            detail.format(step=following.id, most=most, took=took),
            inert(window.step.id) if window else None,
            window.closes_at if window else None,
        )

    def _taken(self, one: StepView) -> str:
        assert one.run is not None
        return taken((self.at - one.run.begun_at).total_seconds(), one.step.duration or 0)

    def _closed(self, step: Step) -> Block | None:
        course = self.course
        try:
            gates.check_begin(course.script, course.ran, step, now=self.now, elsewhere=course.elsewhere)
            course.check_unchanged(step)
        except gates.GateClosedError as error:
            window = inert(error.window) if error.window else None
            return Block(name_of(error), str(error), window, error.closes_at)
        except courses.PlanChangedError as error:
            return Block(name_of(error), str(error))
        return None

    @cached_property
    def closing(self) -> Window | None:
        """Return the open window that closes next, while it still matters: the pivot is not completed."""
        if self.course.pivot_crossed or not self.live:
            return None
        return self.live[0]

    @cached_property
    def live(self) -> list[Window]:
        """Return the windows that are open, next to close first; none where it is rolled back."""
        if self.state is ExecutionState.ROLLED_BACK:
            return []
        return [one for one in windows.held(self.course.script, self.course.ran) if one.closes_at >= self.at]

    @cached_property
    def lapsed(self) -> list[Window]:
        """Return the windows that have closed before the pivot was completed."""
        if self.course.pivot_crossed:
            return []
        return [one for one in windows.held(self.course.script, self.course.ran) if one.closes_at < self.at]

    @cached_property
    def begin_by(self) -> datetime | None:
        """Return until when the next step may begin, where a window says so."""
        if self.next is None or (self.next.run is not None and self.next.run.state == RunState.BEGUN):
            return None
        latest = windows.latest_begin(self.course.script, self.course.ran, self.next.step.index)
        return latest[0] if latest else None

    @cached_property
    def cautions(self) -> list[str]:
        """Return what should be known before the next step begins."""
        if self.next is None:
            return []
        return gates.cautions(self.course.script, self.course.ran, self.next.step, now=self.now)

    @cached_property
    def perishing_since(self) -> datetime | None:
        """Return since when a window is about to close, stamped or not; None where none is, or it is over."""
        if self.state is not ExecutionState.RUNNING or self.course.pivot_begun:
            return self.row.perishing_since
        held = windows.held(self.course.script, self.course.ran)
        first = min((one.perishes_at for one in held), default=None)
        return self.row.perishing_since or (first if first is not None and first <= self.at else None)

    @cached_property
    def unrecoverable_since(self) -> datetime | None:
        """Return since when a window has been closed while it ran, stamped or not."""
        if self.state is not ExecutionState.RUNNING or self.course.pivot_begun:
            return self.row.unrecoverable_since
        return self.row.unrecoverable_since or (self.lapsed[0].closes_at if self.lapsed else None)

    @property
    def held(self) -> Decimal:
        """Return what is reserved and spent of the mandate by now."""
        return sum((one.held for one in self.course.ran.values()), Decimal(0)) + self.course.elsewhere

    @property
    def remaining(self) -> Decimal:
        """Return what is left of the mandate."""
        return gates.remaining(self.course.script, self.course.ran, elsewhere=self.course.elsewhere)

    @property
    def is_undoable(self) -> bool:
        """Say whether a rollback can be asked for, or asked to go on."""
        return self.state in {ExecutionState.RUNNING, ExecutionState.ROLLING_BACK} and not self.course.pivot_crossed

    @property
    def can_roll_back(self) -> bool:
        """Say whether a rollback by whoever looks would be let through now."""
        pivot = self.course.runs.get(self.course.script.pivot)
        running = pivot is not None and pivot.state == RunState.BEGUN and not pivot.human
        return self.is_undoable and not running and policies.may_decide(self.by, self.row)

    @property
    def can_stop(self) -> bool:
        """Say whether whoever looks may end it where it is: past the pivot, while a step is still to come."""
        return self.state is ExecutionState.RUNNING and self.course.pivot_crossed and self.may_decide

    @property
    def may_decide(self) -> bool:
        """Say whether whoever looks may approve and decline."""
        return policies.may_decide(self.by, self.row)

    @property
    def needs_reason(self) -> bool:
        """Say whether acting on it takes a typed reason."""
        return not self.by.owns(self.row.owner_id)

    @property
    def to_undo(self) -> list[StepView]:
        """Return the steps that a rollback would come to, newest first."""
        return [one for one in reversed(self.steps) if one.run is not None and one.run.state == RunState.COMPLETED]

    @property
    def standing(self) -> str:
        """Return what it is called: its state, or what the clock makes of it."""
        if self.state is not ExecutionState.RUNNING:
            return self.state.value.replace("_", " ")
        if self.block is not None:
            return "blocked"
        return "waiting for a person" if self.next is not None and self.next.is_open else "running"

    @property
    def tone(self) -> str:
        """Return how its standing is drawn."""
        tones = {
            "blocked": "refused",
            "running": "flight",
            "waiting for a person": "flight",
            "rolling back": "requested",
        }
        return tones.get(self.standing, "standing")

    @property
    def words(self) -> str:
        """Return one sentence about where it stands."""
        known = {
            "running": _("Running."),
            "waiting for a person": _("Waits for a person."),
            "blocked": _("Blocked: {why}"),
            "finished": _("All steps are completed, by the agent's word."),
            "stopped": _("Stopped after the pivot: what is done stands."),
            "rolling back": _("Being rolled back: a step is still to be undone or to report."),
            "rolled back": _("Rolled back: what became of each step stands beside it."),
        }
        return known[self.standing].format(why=self.block.detail if self.block else "")


def of(rows: Iterable[Execution], *, by: Actor, now: datetime) -> list[Outlook]:
    """Return how executions look to someone now."""
    found = courses.of_all(rows)
    groups = [run.group_id for course in found for run in course.runs.values() if run.group_id]
    shown = presenters.views_of(list(queries.shown(Group.objects.filter(pk__in=groups))), by=by) if groups else []
    views = {view.group.pk: view for view in shown}
    return [Outlook(course, by, now, views) for course in found]


def one(row: Execution, *, by: Actor, now: datetime) -> Outlook:
    """Return how one execution looks to someone now."""
    return of([row], by=by, now=now)[0]


@dataclass(frozen=True)
class Asking:
    """One approval that waits for a person."""

    outlook: Outlook
    step: StepView

    @property
    def is_close(self) -> bool:
        """Say whether its deadline is within five minutes, so that it counts by the second."""
        due = self.step.deadline
        return due is not None and due - self.step.now < timedelta(minutes=5)


def waiting(outlooks: Sequence[Outlook]) -> list[Asking]:
    """Return the approvals that can still be decided, the nearest deadline first."""
    found = [Asking(view, view.next) for view in outlooks if view.next is not None and view.next.is_open]
    return sorted(found, key=_deadline)


def _deadline(asking: Asking) -> tuple[bool, Any, Any]:
    return asking.step.deadline is None, asking.step.deadline, asking.outlook.row.pk
