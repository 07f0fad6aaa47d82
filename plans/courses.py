"""How does an execution stand? Its plan as a script, the newest try of each step, and what it holds of the mandate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from uuid import UUID

from plans import queries
from plans.core import canonical, script, windows
from plans.core.lifecycle import ExecutionState
from plans.core.script import Ran, RunState, Script, Step
from plans.core.verdict import Verdict
from plans.core.words import inert
from plans.models import Execution, StepRun
from sideeffects.models import Effect
from sideeffects.policies import NotFoundError
from sideeffects.transitions import EffectState

TAKEN_BACK = frozenset({EffectState.REVOKED, EffectState.COMPENSATED})


class PlanChangedError(Exception):
    """What was presented or found is not what the execution is bound to; an approval of it is void."""

    def __init__(self, bound: str, presented: str, *, step: str) -> None:
        self.step, self.digest, self.presented = step, bound, presented
        super().__init__(
            f"The execution is bound to {bound[:16]}… and this is {presented[:16]}…: the plan or the step has changed."
        )


@dataclass
class Course:
    """One execution as it stands. `runs` holds the newest try of each step by index."""

    row: Execution
    script: Script
    runs: dict[int, StepRun]

    @property
    def ran(self) -> dict[int, Ran]:
        """Return what the gates know of the past."""
        return {index: _ran(run) for index, run in self.runs.items()}

    @cached_property
    def elsewhere(self) -> Decimal:
        """Return what earlier executions of the plan have spent: what was not taken back stays spent."""
        return _spent_before(self.row)

    @property
    def state(self) -> ExecutionState:
        """Return where the execution stands."""
        return ExecutionState(self.row.state)

    @property
    def pivot_crossed(self) -> bool:
        """Say whether the pivot is completed, so that there is no way back."""
        run = self.runs.get(self.script.pivot)
        return run is not None and run.state == RunState.COMPLETED

    @property
    def pivot_begun(self) -> bool:
        """Say whether the pivot has begun, and has not failed."""
        run = self.runs.get(self.script.pivot)
        return run is not None and run.state in windows.HELD

    def step(self, name: str) -> Step:
        """Return the step of this id; raises NotFoundError."""
        found = self.script.step(name)
        if found is None:
            raise NotFoundError("step", inert(name))
        return found

    def key(self, step: Step) -> str:
        """Return the idempotency key of a step's calls: once in this execution, and apart from every other."""
        return f"{self.row.pk}:{step.key}"

    def check_unchanged(self, step: Step, *, digest: str = "", sha256: str = "") -> None:
        """Let through the plan and the step that the execution, and each approval in it, is bound to.

        `digest` and `sha256` are what somebody presents, empty where they present nothing. Raises PlanChangedError.
        """
        bound = self.row.digest
        found = [(bound, self.script.digest), (bound, digest or bound), (step.sha256, sha256 or step.sha256)]
        for run in self.runs.values():
            if run.human and run.state == RunState.COMPLETED:
                of = self.script.steps[run.index]
                found += [(run.approval.digest, bound), (run.approval.step_sha256, of.sha256)]
        for is_bound, presented in found:
            if is_bound != presented:
                raise PlanChangedError(is_bound, presented, step=inert(step.id))

    def watch(self) -> None:
        """Set when the sweep has to look at the windows again; the row is not saved."""
        self.row.watch_at = None
        held = windows.held(self.script, self.ran)
        if self.pivot_begun or not held:
            return
        if self.row.perishing_since is None:
            self.row.watch_at = min(window.perishes_at for window in held)
        elif self.row.unrecoverable_since is None:
            self.row.watch_at = held[0].closes_at


def _ran(run: StepRun) -> Ran:
    return Ran(run.index, RunState(run.state), run.begun_at, run.ended_at, spent_by(run))


def spent_by(run: StepRun) -> Decimal:
    """Return what a try holds of the mandate: what it reserved, until it is known what was spent."""
    if run.state == RunState.WITHDRAWN:
        return Decimal(0)
    if run.state in windows.HELD:
        return run.reserved if run.spent is None else run.spent
    return run.spent or Decimal(0)


def _spent_before(row: Execution) -> Decimal:
    same = StepRun.objects.filter(execution__owner=row.owner_id, execution__digest=row.digest)
    earlier = list(same.filter(execution__state=ExecutionState.ROLLED_BACK).exclude(execution=row.pk))
    standing = Effect.objects.filter(group__in=[run.group_id for run in earlier if run.group_id])
    left = set(standing.exclude(state__in=[one.value for one in TAKEN_BACK]).values_list("group", flat=True))
    spent = [spent_by(run) for run in earlier if run.group_id is None or run.group_id in left]
    return sum(spent, Decimal(0))


def of(row: Execution) -> Course:
    """Return how an execution stands."""
    return of_all([row])[0]


def locked(execution: UUID) -> Course:
    """Return how an execution stands, its row locked in the caller's transaction; raises NotFoundError."""
    rows = Execution.objects.select_for_update(of=("self",))
    related = ("plan", "owner", "agent", "rollback_user", "rollback_token__agent", "rollback_token__owner")
    row = rows.select_related(*related).filter(pk=execution).first()
    if row is None:
        raise NotFoundError("execution", str(execution))
    return of(row)


def of_all(rows: Iterable[Execution]) -> list[Course]:
    """Return how executions stand, their tries fetched together."""
    rows = list(rows)
    runs: dict[UUID, list[StepRun]] = {row.pk: [] for row in rows}
    found = StepRun.objects.filter(execution__in=rows).select_related("approval__decision", "group")
    for run in found:
        runs[run.execution_id].append(run)
    verdicts = {row.pk: queries.verdict_of(row.plan) for row in rows}
    steps = [step for verdict in verdicts.values() for step in (verdict.plan.steps if verdict.plan else ())]
    humans = queries.human_tools({step.tool for step in steps})
    return [_course(row, _script(row, verdicts[row.pk], humans), runs[row.pk]) for row in rows]


def _script(row: Execution, verdict: Verdict, humans: set[str]) -> Script:
    if verdict.tree is None or verdict.columns is None or verdict.columns.expires is None:
        raise PlanChangedError(row.digest, verdict.digest or "", step="")  # accepted, it was readable
    return script.of(verdict, humans=humans)


def _course(row: Execution, plan: Script, runs: Iterable[StepRun]) -> Course:
    newest = {run.index: run for run in sorted(runs, key=lambda run: run.attempt)}
    if any(index >= len(plan.steps) for index in newest):
        raise PlanChangedError(row.digest, plan.digest, step="")
    return Course(row, _pinned(plan, newest), newest)


def _pinned(plan: Script, runs: Mapping[int, StepRun]) -> Script:
    """Return the script in which what has begun waits for a person exactly where it began so."""
    steps = tuple(
        step if step.index not in runs or step.human == runs[step.index].human else _as_begun(step, runs[step.index])
        for step in plan.steps
    )
    return Script(plan.saga, plan.digest, plan.pivot, plan.cap, plan.expires_at, steps)


def _as_begun(step: Step, run: StepRun) -> Step:
    return Step(**{**vars(step), "human": run.human})


def presented(step: Mapping[str, object] | None) -> str:
    """Return what stands for a step that somebody presents; empty where they present none."""
    return "" if step is None else canonical.step_hash(dict(step))
