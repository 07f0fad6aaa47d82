"""How long do a thousand requests take, and does anything slow them that should not?"""

import subprocess
import sys
import time

import pytest
from django.utils import timezone

from sideeffects.carrier import Carrier
from sideeffects.models import Request
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from tests import factories
from tests.external import WORKER, contact, registered
from tests.processes import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slow(settings):
    """Give a target that takes 200 ms, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.slow_target", "0.2"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    port = int(process.stdout.readline())
    settings.TARGET_HOSTS = frozenset({f"127.0.0.1:{port}"})
    yield f"http://127.0.0.1:{port}"
    process.communicate("")


def carried(slow, count):
    now = timezone.now()  # noqa: TID251  (real time: it is measured)
    registered(slow, max_in_flight=20, now=now)
    by = factories.planner()
    groups = [contact(f"c_{number}", by=by).pk for number in range(count)]
    results = revoke(groups=groups, by=factories.person("alice"), now=now, reason="", trigger=Trigger.CLICK)
    assert all(result.refusal is None for result in results)
    started = time.perf_counter()
    Carrier(by=WORKER, clock=timezone.now, most=64).run()  # noqa: TID251  (as above)
    took = time.perf_counter() - started
    assert Request.objects.filter(state="compensating").count() == count
    return took


def test_two_hundred_requests_keep_twenty_calls_in_flight(slow):
    """A short form for a busy machine: one at a time would take 40 s. The figure is the soak's."""
    assert carried(slow, 200) < 40 / 2


@pytest.mark.soak
def test_a_thousand_requests_take_little_more_than_the_target_does(slow, record_property):
    took = carried(slow, 1000)
    record_property("seconds", took)
    sys.stdout.write(f"1000 requests of 200 ms, 20 in flight: {took:.1f} s against 10 s, {took / 10:.2f}\n")
    assert took < 1.3 * 10
