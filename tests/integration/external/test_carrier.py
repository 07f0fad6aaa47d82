"""Are many requests carried at once, within each target's cap, and does a target that hangs slow no other?"""

import threading
import time

import pytest
from django.db import connections
from django.utils import timezone

from sideeffects.carrier import Carrier
from sideeffects.models import Attempt, Request
from sideeffects.services.carry_out import call, understood
from sideeffects.services.claim import claim
from sideeffects.services.settle import settle
from tests.external import WORKER, asked, contact, go, registered, state
from tests.factories import later
from tests.fakes import serving

pytestmark = pytest.mark.django_db(transaction=True)


def carrier(most=32):
    return Carrier(by=WORKER, clock=timezone.now, most=most)  # noqa: TID251  (real time: threads do not travel)


def test_a_cap_holds_at_the_claim_across_claims(fake):
    registered(fake.url, max_in_flight=3)
    for number in range(8):
        asked(contact(f"c_{number}"))
    first = claim(room=50, by=WORKER, now=later())
    assert len(first) == 3
    assert claim(room=50, by=WORKER, now=later(seconds=1)) == []
    finished = {first[0].request.pk}
    assert len(claim(room=50, by=WORKER, now=later(seconds=1), finished=finished)) == 1


def test_what_is_claimed_ahead_waits_for_the_callers_own_and_counts_for_everyone_else(fake):
    registered(fake.url, max_in_flight=3)
    for number in range(9):
        asked(contact(f"c_{number}"))
    first = claim(room=2, by=WORKER, now=later())
    ahead = {first[0].request.target_id: 2}
    assert [one.waits for one in first] == [False, False]
    assert [one.waits for one in claim(room=50, by=WORKER, now=later(), ahead=ahead)] == [False, True, True]
    assert claim(room=50, by=WORKER, now=later()) == []
    assert [one.waits for one in claim(room=0, by=WORKER, now=later(), ahead=ahead)] == [True, True]


def test_what_would_outlive_its_lease_is_not_called(fake, settings):
    registered(fake.url)
    asked(contact("c_1"))
    settings.REQUEST_LEASE_SECONDS = settings.TARGET_SECONDS - 1
    carrier().run()
    assert fake.seen == []


@pytest.mark.parametrize("carriers", [1, 2])
def test_many_go_at_once_and_never_more_than_the_cap(fake, carriers):
    registered(fake.url, max_in_flight=4)
    for number in range(16):
        asked(contact(f"c_{number}"))
    flying, most, lock = 0, 0, threading.Lock()

    def slow(_seen):
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        time.sleep(0.05)
        with lock:
            flying -= 1
        return 202, {}, b""

    fake.decide = slow
    threads = [threading.Thread(target=run_and_close, args=[carrier()]) for _ in range(carriers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    carrier().run()  # each may have ended while the other held what was left
    assert most == 4
    assert set(Request.objects.values_list("state", flat=True)) == {"compensating"}
    assert len(fake.seen) == 16


def test_a_target_that_hangs_slows_no_other(fake, settings):
    held = threading.Event()
    settings.TARGET_SECONDS = 5
    with serving(lambda _seen: (held.wait(20), None)[1]) as hanging:
        settings.TARGET_HOSTS = frozenset({fake.host, hanging.host})
        registered(hanging.url, name="hangs.example", max_in_flight=10)
        registered(fake.url, max_in_flight=2)
        for number in range(30):
            asked(contact(f"h_{number}", target="hangs.example"))
        for number in range(20):
            asked(contact(f"c_{number}"))
        moving = carrier(most=16)
        thread = threading.Thread(target=run_and_close, args=[moving])
        started = time.monotonic()
        thread.start()
        while Request.objects.filter(state="compensating").count() < 20 and time.monotonic() - started < 4.5:
            threading.Event().wait(0.05)
        took = time.monotonic() - started
        assert Request.objects.filter(target__name="crm.example", state="compensating").count() == 20
        assert took < 4.5
        held.set()
        thread.join(30)
    assert not thread.is_alive()
    assert set(Request.objects.filter(target__name="hangs.example").values_list("state", flat=True)) == {"requesting"}


def run_and_close(moving):
    try:
        moving.run()
    finally:
        connections.close_all()


def test_work_that_comes_while_it_runs_is_taken_at_once_by_the_same_loop(fake):
    registered(fake.url, max_in_flight=10)
    asked(contact("c_0"))
    going, more = threading.Event(), threading.Event()

    def wait_for_more(seen):
        if seen.path == "/contacts/c_0":
            going.set()
            assert more.wait(10)
        else:
            more.set()
        return 202, {}, b""

    fake.decide = wait_for_more
    moving = carrier()
    thread = threading.Thread(target=run_and_close, args=[moving])
    thread.start()
    assert going.wait(10)
    asked(contact("c_1"))
    moving.run()  # returns at once: the loop runs already
    thread.join(20)
    assert set(Request.objects.values_list("state", flat=True)) == {"compensating"}


def test_a_lease_that_runs_out_is_a_try_of_unknown_fate(fake):
    """V2: delivered twice, nothing is done twice; and a 404 after it claims no more than is known."""
    registered(fake.url)
    request = asked(contact())
    assert len(claim(room=5, by=WORKER, now=later())) == 1  # and its process is gone
    assert go(later(seconds=30)) == []
    fake.decide = lambda _seen: (404, {}, b"")
    go(later(minutes=2))
    assert state(request) == "unknown"
    first, second = Attempt.objects.order_by("number")
    assert (first.kind, second.status) == ("no answer", 404)


def test_an_answer_that_comes_after_its_lease_is_kept_and_what_was_accepted_is_accepted(fake):
    registered(fake.url)
    request = asked(contact())
    [slow] = claim(room=5, by=WORKER, now=later())
    came = call(slow, now=later())
    fake.decide = lambda _seen: (404, {}, b"")
    go(later(minutes=2))
    assert state(request) == "unknown"
    settle(called=[understood(slow, came, now=later(minutes=3))], by=WORKER, now=later(minutes=3))
    assert state(request) == "compensating"
