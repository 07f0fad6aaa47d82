"""Is a worker killed at any moment survived: each object undone once, nothing lost, nothing claimed too much?"""

import random
import signal
import threading
from functools import partial

import pytest

from sideeffects.carrier import Carrier
from sideeffects.models import Attempt, Effect, Request, Target
from sideeffects.services.claim import ENDED
from tests import factories
from tests.external import WORKER, asked, clock, contact, registered, state
from tests.processes import beside, tell
from tests.sandbox import until

pytestmark = pytest.mark.django_db(transaction=True)
POINTS = ("after the claim", "while the target acts", "after its answer", "before the settling")

CODE = """
from sideeffects import carrier, tasks
from sideeffects.services import told

def stop(*_args, **_kwargs):
    print("here", flush=True)
    sys.stdin.read()

point = sys.argv[1]
if point == "after the claim":
    carrier.call = stop
elif point == "after its answer":
    carrier.understood = stop
elif point == "before the settling":
    told.tell = carrier.settle.__globals__["tell"] = stop
print("up", flush=True)
tasks.carry_out()
print("done", flush=True)
"""
# Django is loaded once; `go` makes a worker of its own by fork, `kill` kills it and says whether it still ran. Who made
# it kills it: until it is waited for, its number is nobody else's.
FORKS = """
import signal
from sideeffects import tasks
print("up", flush=True)
for line in sys.stdin:
    if line == "go\\n":
        child = os.fork()
        if not child:
            tasks.carry_out()
            os._exit(0)
        print("gone", flush=True)
    else:
        os.kill(child, signal.SIGKILL)
        print("killed" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "done", flush=True)
"""


@pytest.fixture
def target(crm, settings, monkeypatch):
    settings.TARGET_SECONDS = 5
    monkeypatch.setenv("TAKEBACK_TARGET_HOSTS", crm.host)
    monkeypatch.setenv("TAKEBACK_TARGET_SECONDS", "5")
    registered(crm.url, max_in_flight=50, now=clock())
    return crm


def over():
    """Have every lease run out, and everything be due."""
    now = clock()
    Request.objects.exclude(lease_until=None).update(lease_until=now)
    Request.objects.exclude(next_try_at=None).update(next_try_at=now)


def finish(target, *, most=40):
    """Let a healthy worker go on until nothing happens by itself any more; what the target accepted is done."""
    for _ in range(most):
        over()
        Carrier(by=WORKER, clock=clock, most=32).run()
        target.settle()
        if not Request.objects.exclude(next_try_at=None).exists():
            return


def check_claims(target):
    """Hold what is said of each object against what the target was asked and did."""
    said = dict(Effect.objects.values_list("object_id", "state"))
    for id_, there in target.all().items():
        assert there["undone"] <= there["asked"] <= 1
        assert there["asked"] == 1 or said[id_] not in {"compensating", "compensated"}
        assert there["undone"] == 1 or said[id_] != "compensated"


def killed(target, point):
    """Run a worker up to a point of its one request, and kill it there."""
    if point == "while the target acts":
        target.tell("c_1", "slow", seconds=30, times=1)
    worker = beside(CODE, point)
    assert worker.stdout
    assert worker.stdout.readline() == "up\n"
    if point == "while the target acts":
        until(partial(target.was_written, "c_1"))
    else:
        assert worker.stdout.readline() == "here\n"
    check_claims(target)
    worker.send_signal(signal.SIGKILL)
    worker.wait(10)
    worker.communicate()
    check_claims(target)
    assert Request.objects.get().state == "requesting"


@pytest.mark.parametrize("status", ["", "/contacts/{id}"], ids=["blind", "with a status address"])
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at(target, point, status):
    target.create("c_1")
    request = asked(contact(status=status), now=clock())
    killed(target, point)
    finish(target)
    until(lambda: state(request) == "compensated")
    check_claims(target)
    assert {seen["key"] for seen in target.writes("c_1")} == {str(request.pk)}
    assert len(target.writes("c_1")) <= 2
    assert target.seen("c_1")["undone"] == 1


def test_what_is_gone_when_a_killed_worker_comes_back_is_for_a_person(target):
    """The status address shows it no more, nobody says by whom: nothing is done twice, nothing is claimed."""
    target.create("c_1")
    request = asked(contact(status="/contacts/{id}"), now=clock())
    killed(target, "after its answer")
    Target.objects.update(callback_secret="")  # the target's own word gets lost
    target.settle()
    finish(target)
    assert (state(request), bool(request.needs_person_since)) == ("unknown", True)
    assert (len(target.writes("c_1")), target.seen("c_1")["undone"]) == (1, 1)


@pytest.mark.soak
def test_two_hundred_random_kills(target):
    by = factories.planner()
    chance = random.Random(4711)
    turns = killed_ = 0
    with beside(FORKS) as forks:
        assert forks.stdin
        assert forks.stdout
        assert forks.stdout.readline() == "up\n"
        while killed_ < 200:
            turns += 1
            for number in range(3):
                target.create(f"c_{turns}_{number}")
                asked(contact(f"c_{turns}_{number}", by=by), now=clock())
            tell(forks, "go")
            assert forks.stdout.readline() == "gone\n"
            if turns % 2:
                until(partial(target.was_written, f"c_{turns}_0"))
            threading.Event().wait(chance.uniform(0, 0.15))
            tell(forks, "kill")
            killed_ += forks.stdout.readline() == "killed\n"
            check_claims(target)
            over()
            if turns % 3 == 0:
                target.settle()
        forks.stdin.close()
    assert Attempt.objects.filter(ended_at=None).count() + Attempt.objects.filter(detail=ENDED).count() > 100
    finish(target)
    until(lambda: set(Request.objects.values_list("state", flat=True)) == {"compensated"}, seconds=60)
    check_claims(target)
    assert {one["undone"] for one in target.all().values()} == {1}
    assert len(target.all()) == 3 * turns
