"""Is a worker killed at any moment survived: each object undone once, nothing lost, nothing claimed too much?"""

import os
import random
import signal
import threading
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from sideeffects.carrier import Carrier
from sideeffects.models import Attempt, Effect, Request
from sideeffects.services.claim import ENDED
from tests import factories
from tests.external import WORKER, asked, contact, registered
from tests.processes import beside
from tests.shop import Shop

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
# Django is loaded once; every line read makes a worker of its own by fork, whose number is printed.
FORKS = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from sideeffects import tasks
print("up", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        tasks.carry_out()
        os._exit(0)
    print(child, flush=True)
"""


@pytest.fixture
def shop(fake, settings, monkeypatch):
    settings.TARGET_SECONDS = 5
    fake.decide = Shop()
    monkeypatch.setenv("TAKEBACK_TARGET_HOSTS", fake.host)
    monkeypatch.setenv("TAKEBACK_TARGET_SECONDS", "5")
    registered(fake.url, max_in_flight=50, now=timezone.now())  # noqa: TID251  (processes cannot travel)
    return fake.decide


def ahead_by(span):
    return timezone.now() + span  # noqa: TID251  (as above)


def finish(*, most=40):
    """Let a healthy worker go on, its clock far enough ahead that leases are over and everything is due."""
    for turn in range(1, most):
        Carrier(by=WORKER, clock=partial(ahead_by, timedelta(hours=turn)), most=32).run()
        if not Request.objects.exclude(next_try_at=None).exists():
            return


def check_claims(shop):
    """Hold what is said of each object against what the shop did."""
    for effect in Effect.objects.all():
        done = shop.undone[effect.object_id]
        assert done <= 1
        if effect.state in {"compensating", "compensated"}:
            assert done == 1


@pytest.mark.parametrize("status", ["", "/contacts/{id}"], ids=["blind", "with a status address"])
@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at(shop, point, status):
    now = timezone.now()  # noqa: TID251  (as above)
    request = asked(contact(status=status), now=now)
    if point == "while the target acts":
        shop.go_on.clear()
    worker = beside(CODE, point)
    assert worker.stdout
    assert worker.stdout.readline() == "up\n"
    if point == "while the target acts":
        assert shop.acting.wait(20)
    else:
        assert worker.stdout.readline() == "here\n"
    check_claims(shop)
    worker.send_signal(signal.SIGKILL)
    worker.wait(10)
    worker.communicate()
    shop.go_on.set()
    check_claims(shop)
    assert Request.objects.get().state == "requesting"
    finish()
    request.refresh_from_db()
    expected = {"c_1": 1}
    if status and point != "after the claim":
        # The status address shows it no more, and nobody can say by whom: a person is needed, nothing is done twice.
        assert (request.state, shop.undone) == ("unknown", expected)
        assert request.needs_person_since
    else:
        assert (request.state, shop.undone) == ("compensated", expected)
    assert request.effect.state == request.state


@pytest.mark.soak
def test_two_hundred_random_kills(shop):
    now = timezone.now()  # noqa: TID251  (as above)
    by = factories.planner()
    chance = random.Random(4711)
    with beside(FORKS) as forks:
        assert forks.stdin
        assert forks.stdout
        assert forks.stdout.readline() == "up\n"
        for turn in range(200):
            for number in range(3):
                asked(contact(f"c_{turn}_{number}", by=by), now=now)
            shop.acting.clear()
            forks.stdin.write("go\n")
            forks.stdin.flush()
            child = int(forks.stdout.readline())
            if turn % 2:
                shop.acting.wait(20)
            threading.Event().wait(chance.uniform(0, 0.15))
            os.kill(child, signal.SIGKILL)
            check_claims(shop)
            Request.objects.exclude(lease_until=None).update(lease_until=timezone.now())  # noqa: TID251  (as above)
        forks.stdin.close()
    assert Attempt.objects.filter(ended_at=None).count() + Attempt.objects.filter(detail=ENDED).count() > 100
    finish()
    check_claims(shop)
    assert set(shop.undone.values()) == {1}
    assert len(shop.undone) == 600
    assert set(Request.objects.values_list("state", flat=True)) == {"compensated"}
