"""When several processes act on one execution at once, or die at any write: one winner, nothing twice, nothing lost?"""

import json
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from audit.models import Record
from plans.models import Decision, Execution, StepRun
from plans.services.sweep import sweep
from sideeffects import actors
from sideeffects.models import Effect, Group, Revocation
from tests import external
from tests.crew import ACTS
from tests.executions import Run, proposed, seconds, six, states, undone
from tests.factories import planner
from tests.processes import beside, tell

pytestmark = pytest.mark.django_db(transaction=True)


def act(run: Run, verb: str, step: str = "", at: float = 0, *, person: bool = False, **more: Any) -> list[Any]:
    assert run.by.token
    token = "" if person else str(run.by.token.pk)
    return ["execution", {"verb": verb, "execution": str(run.id), "step": step, "token": token, "at": at, **more}]


def written(action: str) -> int:
    return Record.objects.filter(action=action).count()


def another(run: Run, number: int) -> Run:
    plan = six() | {"sagaId": f"sg_{number}"}
    plan["steps"][0]["undoTtlSeconds"] = 3600
    return Run(plan, by=run.by)


@pytest.fixture
def askable(settings, transactional_db):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")


def test_one_execution_one_begin_one_action_one_rollback(four, askable):
    by = planner()
    plan = proposed(by=by)
    told = four.all_at_once(*[["start", {"plan": str(plan.pk), "token": str(by.token.pk)}]] * 8)  # type: ignore[union-attr]  # (an agent)
    assert Counter(word.split()[0] for word in told) == {"new": 1, "old": 7}
    assert len({word.split()[1] for word in told}) == 1
    run = Run(by=by)
    assert Execution.objects.get().pk == run.id

    told = four.all_at_once(*[act(run, "begin", "s1")] * 8, *[act(run, "begin", "s2")] * 4)
    assert Counter(told) == {"ok": 1, "AlreadyBegunError": 7, "OutOfOrderError": 4}
    assert (written("step_begun"), int(run.course.runs[0].reserved)) == (1, 10)

    told = four.all_at_once(*[act(run, "complete", "s1", 1)] * 8)
    assert Counter(told) == {"ok": 8}
    assert (written("step_completed"), Group.objects.count(), Effect.objects.count()) == (1, 1, 1)

    told = four.all_at_once(*[act(run, "rollback", at=2, person=True)] * 4, *[act(run, "begin", "s2", 2)] * 4)
    run.by = by
    if run.row.state == "rolling_back":  # s2 came first: it is taken back when it reports
        run.complete("s2", 3)
    assert run.row.state == "rolled_back"
    assert Counter(undone(run).values()) in ({"not sent": 1}, {"not sent": 2})
    assert Revocation.objects.count() == Group.objects.count() == written("COMPENSATE")


def test_one_decision_wins_whatever_else_is_decided_or_asked_at_that_moment(four, askable):
    first = Run()
    for number in range(3):
        run = another(first, number)
        run.do("s1", 0)
        run.do("s2", 2)
        approval = str(run.begin("s3", 4).runs[2].approval.pk)
        before = (written("approval_given"), written("approval_declined"))
        yes, no = (act(run, verb, "s3", 604, person=True, approval=approval) for verb in ("approve", "decline"))
        late = act(run, "approve", "s3", 605, person=True, approval=approval)
        tasks = {0: [yes] * 3 + [no] * 3, 1: [yes] * 2 + [late] * 4, 2: [yes, act(run, "begin", "s3", 605)] * 3}[number]
        told = Counter(four.all_at_once(*tasks))
        decided = Decision.objects.filter(pk=UUID(approval))
        made = written("approval_given") - before[0], written("approval_declined") - before[1]
        assert sum(made) == decided.count() <= 1
        assert states(run)["s3"] in {"completed", "declined", "begun"}
        assert decided.exists() or run.course.runs[2].attempt == 2 or told["DeadlinePassedError"] == 6
        assert not (decided.exists() and run.course.runs[2].attempt == 2)
        assert set(told) <= {
            *("ok", "AlreadyDecidedError", "AlreadyBegunError", "ApprovalSupersededError", "DeadlinePassedError")
        }


FORKS = """
import signal
from django.db import connection
from tests import crew

def deadly(left):
    def wrap(execute, sql, params, many, context):
        nonlocal left
        if sql.lstrip()[:6] in ("INSERT", "UPDATE", "DELETE"):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return execute(sql, params, many, context)
    return wrap

print("up", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        with connection.execute_wrapper(deadly(order["at"])):
            for name, words in order["acts"]:
                try:
                    crew.ACTS[name](**words)
                except Exception:
                    pass
        os._exit(0)
    print("killed" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "done", flush=True)
"""


def story(run: Run) -> list[list[Any]]:
    """Return what an agent and alice do: two contacts, an approval, and a step that fails."""
    return [
        act(run, "begin", "s1", 0),
        act(run, "complete", "s1", 1),
        act(run, "begin", "s2", 2),
        act(run, "complete", "s2", 3),
        act(run, "begin", "s3", 4),
        act(run, "approve", "s3", 5, person=True),
        act(run, "begin", "s4", 6),
        act(run, "fail", "s4", 7),
    ]


def check_half(run: Run) -> None:
    """Hold what stands after a death: what is said to be completed is recorded, once, and nothing else is."""
    groups = dict(Group.objects.filter(execution=str(run.id)).values_list("step", "pk"))
    runs = StepRun.objects.filter(execution=run.id)
    assert {one.step: one.group_id for one in runs if one.group_id} == groups
    assert runs.filter(state="begun").count() <= 1
    undone_ = {one.group_id for one in runs if one.undone_at and one.group_id}
    assert undone_ == set(Revocation.objects.filter(group__in=groups.values()).values_list("group", flat=True))


def died(forks: Any, run: Run, at: int) -> bool:
    tell(forks, json.dumps({"at": at, "acts": story(run)}))
    killed = bool(forks.stdout.readline() == "killed\n")
    check_half(run)
    return killed


def go_on(run: Run) -> None:
    """Let the agent repeat everything, as one does that does not know how far it came; and beat run."""
    for name, words in story(run):
        try:
            ACTS[name](**words)
        except Exception:  # noqa: BLE001  (refused where it is done already; what stands is checked below)
            continue
    sweep(by=actors.system("beat"), now=seconds(8))


def test_a_process_that_dies_at_any_write_leaves_nothing_twice_and_nothing_lost(askable, request):
    every = 1 if request.config.getoption("--soak", default=False) else 11
    first, number = Run(), 0
    with beside(FORKS) as forks:
        assert forks.stdout
        assert forks.stdin
        assert forks.stdout.readline() == "up\n"
        alive = True
        while alive:
            run = another(first, number)
            alive = died(forks, run, number)
            go_on(run)
            assert run.row.state == "rolled_back"
            assert undone(run) == {"s3": "nothing to undo", "s2": "not sent", "s1": "not sent"}
            assert StepRun.objects.filter(execution=run.id).count() == 4
            groups = Group.objects.filter(execution=str(run.id))
            assert (groups.count(), Revocation.objects.filter(group__in=groups).count()) == (2, 2)
            spent = [one.reserved for one in StepRun.objects.filter(execution=run.id)]
            assert sum(spent) == 30
            number += every
        forks.stdin.close()
    assert number >= 40  # so many writes there are at least
    steps = Record.objects.filter(action__startswith="step_").exclude(action="step_refused")
    told = Counter(steps.values_list("action", flat=True))
    runs = Execution.objects.count() - 1
    assert told == {"step_begun": 4 * runs, "step_completed": 2 * runs, "step_failed": runs, "step_undone": 3 * runs}
    connections.close_all()
