"""What do the tests of executions share? A plan of six steps, its agent, and the verbs in short."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from plans import courses
from plans.courses import Course
from plans.models import Execution, PlanSubmission
from plans.services.begin import begin
from plans.services.complete import complete
from plans.services.decide import approve
from plans.services.fail import fail
from plans.services.rollback import rollback
from plans.services.start import start
from plans.services.submit import submit
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from tests import external, factories
from tests.factories import NOW, person

LOCAL = ("s1", "s5")


def step(name: str, tool: str, *, undo: str = "", kind: str = "", **numbers: Any) -> dict[str, Any]:
    """Return a step; with `undo` it is compensable."""
    one: dict[str, Any] = {"id": name, "tool": tool, "class": kind or ("compensable" if undo else "irreversible")}
    if undo:
        one["compensation"] = {"tool": undo, "args": {"ref": f"${name}.id"}}
    return one | numbers


def six() -> dict[str, Any]:
    """Return a plan of six steps: two in another system, one a person's, the pivot, and one after it.

    Until the pivot begins it takes at most 60 + 60 + 600 + 60 = 780 s, and the first window is exactly as long.
    """
    return {
        "sagaId": "sg_six",
        "pivotIndex": 4,
        "mandate": {"maxSpendEur": 100, "expiresAt": "2027-01-31T00:00:00Z"},
        "steps": [
            _six("s1", "crm.create_contact", undoTtlSeconds=780, maxSpendEur=10),
            _six("s2", "crm.create_contact", undoTtlSeconds=3600, maxSpendEur=20),
            _six("s3", "human.approve", maxDurationSeconds=600, undoTtlSeconds=86_400),
            _six("s4", "note.create", undoTtlSeconds=7200),
            step("s5", "fee.capture", maxDurationSeconds=60, maxSpendEur=50),
            step("s6", "email.send", kind="retriable", maxDurationSeconds=60),
        ],
    }


def _six(name: str, tool: str, **numbers: Any) -> dict[str, Any]:
    return step(name, tool, undo=f"{tool}.undo", **{"maxDurationSeconds": 60, **numbers})


def proposed(plan: dict[str, Any] | None = None, *, by: Actor, now: datetime = NOW) -> PlanSubmission:
    """Propose a plan."""
    return submit(body=json.dumps(plan or six()).encode(), by=by, now=now)[0]


class Run:
    """An execution and its agent; `at` is a time in seconds after NOW."""

    def __init__(self, plan: dict[str, Any] | None = None, *, by: Actor | None = None, at: float = 0) -> None:
        self.by = by or factories.planner()
        factories.crm(self.by)
        self.plan = proposed(plan, by=self.by, now=seconds(at))
        self.id = start(plan=self.plan.pk, by=self.by, now=seconds(at))[0].pk

    @property
    def row(self) -> Execution:
        """Return the row as it is now."""
        return Execution.objects.get(pk=self.id)

    @property
    def course(self) -> Course:
        """Return how it stands now."""
        return courses.of(self.row)

    def begin(self, name: str, at: float, **more: Any) -> Course:
        """Ask to begin a step."""
        return begin(execution=self.id, step=name, by=self.by, now=seconds(at), **more)

    def complete(self, name: str, at: float, effects: Sequence[Declared] | None = None, **more: Any) -> Course:
        """Report a step as completed, with one contact where nothing else is said."""
        wrote = [factories.contact(f"c-{name}")] if effects is None else effects
        course, recorded = complete(execution=self.id, step=name, effects=wrote, by=self.by, now=seconds(at), **more)
        assert recorded
        recorded.check_agrees()
        return course

    def do(self, name: str, begun: float, done: float | None = None) -> Course:
        """Begin and complete a step."""
        self.begin(name, begun)
        return self.complete(name, begun + 1 if done is None else done)

    def approve(self, name: str, at: float, *, who: str = "alice", reason: str = "", **more: Any) -> Course:
        """Approve a step as a person."""
        return approve(execution=self.id, step=name, reason=reason, by=person(who), now=seconds(at), **more)

    def fail(self, name: str, at: float) -> Course:
        """Report a step as failed."""
        return fail(execution=self.id, step=name, reason="no", by=self.by, now=seconds(at))

    def rollback(self, at: float, *, who: str = "alice", reason: str = "") -> Course:
        """Have a person roll it back."""
        return rollback(execution=self.id, reason=reason, by=person(who), now=seconds(at))

    def until_pivot(self, at: float = 0) -> None:
        """Carry out everything before the pivot, a second a step."""
        self.do("s1", at)
        self.do("s2", at + 2)
        self.begin("s3", at + 4)
        self.approve("s3", at + 5)
        self.do("s4", at + 6)


def seconds(after: float) -> datetime:
    """Return a time so many seconds after NOW."""
    return NOW + timedelta(seconds=after)


def states(run: Run) -> dict[str, str]:
    """Return where each step that has begun stands."""
    return {one.step: one.state for one in run.course.runs.values()}


def undone(run: Run) -> dict[str, str]:
    """Return what undoing came to, step by step, in the order in which it was asked for."""
    runs = sorted((one for one in run.course.runs.values() if one.undone_at), key=lambda one: -one.index)
    return {one.step: one.undone for one in runs}


def written(action: str) -> list[dict[str, Any]]:
    """Return the data of what stands on the log of this kind, oldest first."""
    return [body["data"] for body in external.bodies(action)]


def askable(settings: Any) -> None:
    """Let the target of the plan's tools be asked; nothing is sent there, as no worker runs."""
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
