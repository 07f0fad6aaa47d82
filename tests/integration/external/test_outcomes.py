"""What becomes of an effect for every answer, over real HTTP, however earlier tries went?"""

import json
import socket
import time
from itertools import pairwise

import pytest

from sideeffects import identity
from sideeffects.models import Attempt, Notice, Request, Target
from sideeffects.services import targets
from tests import factories
from tests.external import asked, bodies, contact, go, registered, state
from tests.factories import later
from tests.fakes import serving

pytestmark = pytest.mark.django_db
DONE, FAILED, PENDING = (json.dumps({"status": word}).encode() for word in ("done", "failed", "pending"))


def answers(fake, *wanted):
    """Have the fake give these answers one after another, the last for ever."""
    left = list(wanted)
    fake.decide = lambda _seen: left.pop(0) if len(left) > 1 else left[0]


def run(count, *, start=0):
    for number in range(count):
        go(later(hours=start + number))


@pytest.mark.parametrize("before", ["first", "accepted", "unknown"])
@pytest.mark.parametrize(
    ("answer", "states"),
    [
        ((202, {}, b""), "compensating compensating compensating"),
        ((200, {}, PENDING), "compensating compensating compensating"),
        ((200, {}, DONE), "compensated compensated compensated"),
        ((200, {}, FAILED), "refused refused refused"),
        ((409, {}, b"no"), "refused refused refused"),
        ((401, {}, b""), "refused refused refused"),
        ((403, {}, b""), "refused refused refused"),
        ((412, {}, b""), "refused refused refused"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "refused refused refused"),
        ((404, {}, b""), "refused compensated unknown"),
        ((410, {}, b""), "refused compensated unknown"),
        ((429, {}, b""), "requesting requesting requesting"),
        ((503, {}, b""), "requesting requesting requesting"),
        ((500, {}, b""), "requesting requesting requesting"),
        (None, "requesting requesting requesting"),
    ],
    ids=lambda value: str(value)[:14],
)
def test_the_matrix(fake, before, answer, states):
    registered(fake.url)
    request = asked(contact())
    wanted = dict(zip(("first", "accepted", "unknown"), states.split(), strict=True))[before]
    if before == "unknown":
        answers(fake, None, answer)
        run(2)
    elif before == "accepted":
        Request.objects.update(accepted_at=later(minutes=-1))  # as after a callback that reopened it
        answers(fake, answer)
        run(1)
    else:
        answers(fake, answer)
        run(1)
    assert state(request) == wanted
    request.effect.refresh_from_db()
    assert request.effect.state == wanted
    assert {seen.headers["Idempotency-Key"] for seen in fake.seen} == {str(request.pk)}
    assert all(body["data"]["complete"] is (wanted == "compensated") for body in bodies("COMPENSATE")[-1:])


def test_always_503_is_tried_a_bounded_number_of_times_then_needs_a_person(fake, settings):
    """V9."""
    registered(fake.url)
    request = asked(contact())
    answers(fake, (503, {}, b""))
    waits = []
    now = later(minutes=0)
    while True:
        go(now)
        request.refresh_from_db()
        if request.next_try_at is None:
            break
        waits.append((request.next_try_at - now).total_seconds())
        now = request.next_try_at
    assert len(fake.seen) == settings.REQUEST_TRIES
    assert all(later_ > 1.2 * earlier for earlier, later_ in pairwise(waits))
    assert request.needs_person_since == now
    assert state(request) == "requesting"
    assert Notice.objects.get().kind == "needs a person"
    [needed] = bodies("person_needed")
    assert len({attempt["jti"] for attempt in needed["data"]["attempts"]}) == settings.REQUEST_TRIES
    assert go(later(days=30)) == []


def test_always_silent_ends_as_unknown_and_never_as_more(fake, settings):
    """X5, first half: a late word is in test_callbacks."""
    settings.REQUEST_TRIES = 3
    registered(fake.url)
    request = asked(contact())
    answers(fake, None)
    run(5)
    assert len(fake.seen) == 3
    assert state(request) == "unknown"
    assert request.needs_person_since
    assert "may or may not have arrived" in request.detail
    assert len({seen.headers["Idempotency-Key"] for seen in fake.seen}) == 1
    assert len({seen.headers["Authorization"] for seen in fake.seen}) == 3


def test_a_timeout_is_no_answer_and_takes_no_longer_than_it_may(fake):
    """X4: the retry has the same key."""
    registered(fake.url)
    request = asked(contact())

    def hang(_seen):
        time.sleep(1.6)
        return 202, {}, b""

    fake.decide = hang
    started = time.monotonic()
    [came] = go()
    assert time.monotonic() - started < 1.5
    assert "no answer within 1 s" in came.heard.why
    assert state(request) == "requesting"
    answers(fake, (202, {}, b""))
    run(1, start=1)
    assert state(request) == "compensating"
    assert len({seen.headers["Idempotency-Key"] for seen in fake.seen}) == 1


def test_a_target_that_drips_is_cut_off_and_a_flood_is_capped(fake):
    registered(fake.url)
    request = asked(contact())
    answers(fake, (409, {}, b"x" * 300_000))
    [came] = go()
    assert state(request) == "refused"
    assert len(Attempt.objects.get().excerpt) <= 500
    assert came.heard.status == 409


def test_what_never_left_is_not_sent_and_one_fact_of_the_target(fake, settings):
    """X3; a target that is down is one fact, not two hundred failures."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings.TARGET_HOSTS = frozenset({f"127.0.0.1:{port}", fake.host})
    target = registered(f"http://127.0.0.1:{port}", max_in_flight=5)
    requests = [asked(contact(f"c_{number}")) for number in range(20)]
    assert len(go()) == 5
    target.refresh_from_db()
    assert target.unreachable_since
    assert "refused" in target.unreachable_why
    tried = Attempt.objects.count()
    for minutes in range(10, 40, 10):
        assert len(go(later(minutes=minutes))) == 1  # one request tries whether it is back
    assert Attempt.objects.count() == tried + 3
    rows = Request.objects.all()
    assert {row.state for row in rows} == {"requesting"}
    assert all(row.sent_at is None and row.tries == 0 for row in rows)
    registered(fake.url, max_in_flight=5)
    assert Request.objects.exclude(suspended_at=None).count() == 20  # its address changed
    Request.objects.update(suspended_at=None)
    for _ in range(4):
        go(later(hours=1))
    assert {state(row) for row in requests} == {"compensating"}
    target.refresh_from_db()
    assert target.unreachable_since is None


def test_a_disabled_target_is_not_asked(fake):
    registered(fake.url)
    request = asked(contact())
    targets.disable(name="crm.example", by=factories.person("admin"), now=later(minutes=1))
    assert go(later(minutes=2)) == []
    assert state(request) == "requesting"
    targets.enable(name="crm.example", by=factories.person("admin"), now=later(minutes=3))
    go(later(minutes=4))
    assert state(request) == "compensating"


def test_no_signing_key_means_not_sent_and_the_target_is_not_to_blame(fake, settings):
    registered(fake.url)
    asked(contact())
    go()
    request = asked(contact("c_2"))
    settings.KEY_SECRETS = ["another secret"]
    identity._opened.clear()
    [came] = go(later(minutes=1))
    assert came.heard.why.startswith("no token can be signed")
    assert state(request) == "requesting"
    assert request.sent_at is None
    assert Target.objects.get().unreachable_since is None
    assert len(fake.seen) == 1
    identity._opened.clear()


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("120", 120, 190), ("soon", 3, 9), ("-5", 3, 9), ("1e9", 3, 9), ("999999999999", 3600, 4500), ("", 3, 9)],
)
def test_retry_after_is_honoured_ignored_or_capped(fake, value, least, most):
    """X10."""
    registered(fake.url)
    request = asked(contact())
    answers(fake, (503, {"Retry-After": value}, b""))
    go()
    request.refresh_from_db()
    assert request.next_try_at
    assert least <= (request.next_try_at - later()).total_seconds() <= most


def test_retry_after_as_a_date(fake):
    registered(fake.url)
    request = asked(contact())
    answers(fake, (429, {"Retry-After": "Mon, 30 Nov 2026 12:10:00 GMT"}, b""))
    go()
    request.refresh_from_db()
    assert request.next_try_at
    assert 600 <= (request.next_try_at - later()).total_seconds() <= 760


def test_a_location_on_another_host_gets_no_token_and_is_flagged(fake, settings):
    """X11."""
    with serving(lambda _seen: (200, {}, DONE)) as other:
        settings.TARGET_HOSTS = frozenset({fake.host, other.host})
        registered(fake.url)
        request = asked(contact())
        answers(fake, (202, {"Location": f"{other.url}/jobs/1"}, b""))
        run(3)
        assert other.seen == []
    assert (state(request), request.flag, request.status_url) == ("compensating", "elsewhere", "")
    assert len(fake.seen) == 1


def test_a_redirect_is_not_followed(fake, settings):
    with serving(lambda _seen: (200, {}, DONE)) as other:
        settings.TARGET_HOSTS = frozenset({fake.host, other.host})
        registered(fake.url)
        request = asked(contact())
        answers(fake, (307, {"Location": f"{other.url}/contacts/c_1"}, b""))
        run(3)
        assert other.seen == []
    assert (state(request), request.flag) == ("refused", "redirect")


def test_202_with_location_is_polled_there(fake):
    """X8."""
    registered(fake.url)
    request = asked(contact())
    answers(
        fake,
        (202, {"Location": "/jobs/7"}, b""),
        (200, {}, PENDING),
        (200, {}, PENDING),
        (500, {}, b""),
        (200, {}, DONE),
    )
    run(1)
    assert state(request) == "compensating"
    run(1, start=1)
    run(2, start=2)
    assert state(request) == "compensating"
    run(1, start=4)
    assert state(request) == "compensated"
    assert [(seen.method, seen.path) for seen in fake.seen][1:] == [("GET", "/jobs/7")] * 4
    assert bodies("COMPENSATE")[-1]["data"]["complete"] is True
    assert Attempt.objects.filter(purpose="ask").count() == 3  # an answer that says nothing new is not kept
    run(2, start=9)
    assert len(fake.seen) == 5


def test_after_a_drop_the_status_is_asked_first_and_nothing_is_done_twice(fake):
    """X9: the object is read before anything is sent again."""
    registered(fake.url)
    request = asked(contact(status="/contacts/{id}"))
    answers(fake, None, (404, {}, b""))
    run(2)
    assert [seen.method for seen in fake.seen] == ["DELETE", "GET"]
    assert (state(request), request.detail) == ("unknown", "no longer shown by the target, cause unknown")


def test_a_read_that_still_shows_it_lets_the_same_key_go_again(fake):
    registered(fake.url)
    request = asked(contact(status="/contacts/{id}"))
    answers(fake, None, (200, {}, b"{}"), (404, {}, b""))
    run(3)
    assert [seen.method for seen in fake.seen] == ["DELETE", "GET", "DELETE"]
    assert (state(request), request.detail) == ("compensated", "undone: the target no longer has it")


def test_what_vanishes_after_it_was_accepted_is_undone(fake):
    registered(fake.url)
    request = asked(contact(status="/contacts/{id}"))
    answers(fake, (202, {}, b""), (200, {}, b"{}"), (404, {}, b""))
    run(3)
    assert (state(request), request.detail) == ("compensated", "undone: the target no longer has it")


def test_evidence_holds_no_secret_of_ours(fake):
    registered(fake.url)
    asked(contact())

    def echo(seen):
        return 409, {}, json.dumps({"you sent": seen.headers, "password": "hunter2"}).encode()

    fake.decide = echo
    go()
    excerpt = Attempt.objects.get().excerpt
    assert "[removed]" in excerpt
    assert "eyJ" not in excerpt
    assert "hunter2" not in excerpt
