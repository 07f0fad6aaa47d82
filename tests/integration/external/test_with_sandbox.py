"""Does every behaviour of the real sandbox come out as the table says, with keys that change and many at once?"""

from datetime import timedelta
from functools import partial

import pytest

from sideeffects import identity
from sideeffects.carrier import Carrier
from sideeffects.models import Attempt, Effect, Request
from sideeffects.services import keys
from sideeffects.services.carry_out import call, understood
from sideeffects.services.claim import claim
from sideeffects.services.settle import settle
from tests.external import WORKER, asked, bodies, clock, contact, go, registered, state
from tests.processes import in_thread
from tests.sandbox import until

pytestmark = pytest.mark.django_db(transaction=True)


IDS = iter(range(10**6))


@pytest.fixture
def ask(crm):
    """Give what has an object made in the sandbox, told what to do about it, and asked back by alice."""

    def make(do="accept", *, status="", owner="alice", **told):
        name = f"c_{next(IDS)}"
        crm.create(name, owner=owner)
        crm.tell(name, do, **told)
        return name, asked(contact(name, status=status), now=clock())

    return make


def run(turns=1, *, start=0):
    """Carry what is due, an hour later each turn; tokens are made now."""
    for turn in range(start, start + turns):
        go(clock() + timedelta(hours=turn), real=clock())


@pytest.mark.parametrize(
    ("do", "told", "wanted", "undone"),
    [
        ("accept", {}, "compensating", 0),
        ("pending", {}, "compensating", 0),
        ("done", {}, "compensated", 1),
        ("succeeded", {}, "compensated", 1),
        ("failed", {}, "refused", 0),
        ("refuse", {"reason": "in use"}, "refused", 0),
        ("forbid", {}, "refused", 0),
        ("unauthorized", {}, "refused", 0),
        ("gone", {}, "refused", 0),
        ("busy", {"retry_after": "soon"}, "requesting", 0),
        ("unavailable", {"retry_after": "30"}, "requesting", 0),
        ("error", {}, "requesting", 0),
        ("drop_before", {}, "requesting", 0),
        ("drop", {}, "requesting", 0),
        ("redirect", {"url": "http://127.0.0.1:9/"}, "refused", 0),
        ("location_elsewhere", {"url": "http://127.0.0.1:9/jobs/1"}, "compensating", 0),
        ("slow", {"seconds": 0.2}, "compensating", 0),
        ("hang", {"seconds": 8}, "requesting", 0),
        ("disappear", {}, "compensating", 1),
    ],
)
def test_every_behaviour_on_the_first_try(crm, ask, do, told, wanted, undone):
    """X1, X2, X3, X7, X8, X11 among them."""
    name, request = ask(do, **told)
    run()
    assert state(request) == wanted
    assert crm.seen(name)["undone"] == undone
    [seen] = crm.seen(name)["requests"]
    assert seen["key"] == str(request.pk)
    assert seen["jti"] == str(Attempt.objects.get().jti)


@pytest.mark.parametrize(
    ("do", "wanted"),
    [
        ("accept", "compensating"),
        ("done", "compensated"),
        ("failed", "refused"),
        ("refuse", "refused"),
        ("forbid", "refused"),
        ("gone", "unknown"),
        ("unavailable", "requesting"),
        ("error", "requesting"),
        ("redirect", "refused"),
    ],
)
def test_every_behaviour_after_a_try_of_unknown_fate(crm, ask, do, wanted):
    name, request = ask("drop_before", times=1)
    run()
    crm.tell(name, do)
    run(start=1)
    assert state(request) == wanted
    assert len({one["key"] for one in crm.seen(name)["requests"]}) == 1


@pytest.mark.parametrize(
    ("do", "wanted"),
    [("accept", "compensating"), ("done", "compensated"), ("failed", "refused"), ("gone", "compensated")],
)
def test_every_behaviour_after_an_accepted_request(crm, ask, do, wanted):
    name, request = ask(do)
    Request.objects.update(accepted_at=clock())
    run()
    assert state(request) == wanted
    assert crm.seen(name)["undone"] == (1 if do == "done" else 0)


def test_what_disappears_after_it_was_accepted(crm, ask):
    _, request = ask("disappear", status="/contacts/{id}")
    run(2)
    assert (state(request), request.detail) == ("compensated", "undone: the target no longer has it")


def test_a_token_for_one_target_is_refused_by_another(crm, ask):
    """X14: the same sandbox, registered as somebody else."""
    registered(crm.url, name="other.example", audience="https://other.example")
    name = f"c_{next(IDS)}"
    crm.create(name)
    request = asked(contact(name, target="other.example"), now=clock())
    run()
    assert (state(request), request.flag) == ("refused", "credential")
    assert "(401)" in request.detail
    assert crm.seen(name)["undone"] == 0


def test_a_foreign_owners_object_is_not_undone(crm, ask):
    name, request = ask("done", owner="bob")
    run()
    assert (state(request), request.flag) == ("refused", "credential")
    assert crm.seen(name)["undone"] == 0


def test_two_workers_at_once_do_nothing_twice(crm, ask):
    """V2."""
    made = [ask("slow", seconds=0.1) for _ in range(12)]
    threads = [in_thread(Carrier(by=WORKER, clock=clock, most=16).run) for _ in range(2)]
    for thread in threads:
        thread.join(30)
    assert {state(request) for _, request in made} == {"compensating"}
    assert all(len(crm.seen(name)["requests"]) == 1 for name, _ in made)


def test_keys_rotate_during_load_and_nothing_is_refused(crm, ask):
    made = [ask("done") for _ in range(24)]
    published = clock()
    keys.active(by=WORKER, now=published)
    for turn in range(4):
        claimed = claim(room=6, by=WORKER, now=clock())
        rotate = in_thread(partial(rotated, published + timedelta(minutes=15 * (turn + 1))))
        came = [understood(one, call(one, now=clock()), now=clock()) for one in claimed]
        settle(called=came, by=WORKER, now=clock())
        rotate.join(10)
    assert {state(request) for _, request in made} == {"compensated"}
    assert len(set(Attempt.objects.values_list("kid", flat=True))) >= 3


def rotated(now):
    keys.rotate(by=WORKER, now=now)
    identity._opened.clear()


def test_the_whole_way_with_threads_and_callbacks(crm, ask):
    made = [ask("accept", seconds=0.2) for _ in range(8)]
    Carrier(by=WORKER, clock=clock, most=16).run()
    until(lambda: not Effect.objects.exclude(state="compensated").exists())
    assert all(crm.seen(name)["undone"] == 1 for name, _ in made)
    assert bodies("COMPENSATE")[-1]["data"]["complete"] is True
