"""Do the cases hold against a target that runs on its own, verifies our tokens and counts what it really undid?"""

import socket
from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from sideeffects import identity
from sideeffects.carrier import Carrier
from sideeffects.declarations import Declared
from sideeffects.models import Attempt, Callback, Request, Target
from sideeffects.services import keys, stale, targets
from sideeffects.targets.addresses import HostRefusedError
from sideeffects.transitions import Operation
from tests import factories
from tests.external import WORKER, asked, bodies, clock, contact, registered, state, turn
from tests.fakes import serving
from tests.processes import in_thread
from tests.sandbox import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def request_(crm):
    """Give the request about a contact that is really there."""
    crm.create("c_1")
    return asked(contact("c_1"), now=clock())


@pytest.fixture
def readable(crm):
    """Give the same where the contact can be read at an address of its own."""
    crm.create("c_1")
    return asked(contact("c_1", status="/contacts/{id}"), now=clock())


def keys_of(crm):
    return [seen["key"] for seen in crm.writes("c_1")]


def test_v2_a_job_that_is_delivered_twice_makes_no_second_call(crm, request_):
    crm.tell("c_1", "slow", seconds=0.4)
    carriers = [Carrier(by=WORKER, clock=clock, most=8) for _ in range(2)]
    for thread in [in_thread(one.run) for one in carriers]:
        thread.join(20)
    turn()
    crm.settle()
    assert (len(crm.writes("c_1")), crm.seen("c_1")["undone"]) == (1, 1)


def test_v9_always_503_is_tried_a_bounded_number_of_times_then_a_person_is_needed(crm, request_, settings):
    crm.tell("c_1", "unavailable")
    waits, hours = [], 0.0
    while True:
        began = clock() + timedelta(hours=hours)
        turn(hours)
        request_.refresh_from_db()
        if request_.next_try_at is None:
            break
        waits.append((request_.next_try_at - began).total_seconds())
        hours += waits[-1] / 3600 + 0.001
    assert keys_of(crm) == [str(request_.pk)] * settings.REQUEST_TRIES
    assert len({seen["jti"] for seen in crm.writes("c_1")}) == settings.REQUEST_TRIES
    assert all(second > 1.2 * first for first, second in pairwise(waits))
    assert (state(request_), bool(request_.needs_person_since)) == ("requesting", True)
    assert len(bodies("person_needed")) == 1
    assert crm.seen("c_1")["undone"] == 0


def test_x1_200_with_pending_is_compensating(crm, request_):
    crm.tell("c_1", "pending")
    turn()
    assert state(request_) == "compensating"
    assert bodies("COMPENSATE")[-1]["data"]["complete"] is False


@pytest.mark.parametrize(
    ("do", "wanted", "said"), [("failed", "refused", "failed"), ("succeeded", "compensated", "done")]
)
def test_x2_a_body_that_says_how_it_went_is_taken_at_its_word(crm, request_, do, wanted, said):
    crm.tell("c_1", do, reason="it was invoiced")
    turn()
    assert state(request_) == wanted
    attempt = Attempt.objects.get()
    assert (attempt.status, attempt.said, do in attempt.excerpt) == (200, said, True)
    assert attempt.digest
    assert crm.seen("c_1")["undone"] == (1 if do == "succeeded" else 0)


def test_x3_what_never_left_is_not_sent(crm, request_, settings):
    admin = factories.person("admin")
    keys.active(by=WORKER, now=clock())
    targets.disable(name="crm.example", by=admin, now=clock())
    assert turn() == []
    targets.enable(name="crm.example", by=admin, now=clock())
    kept, settings.KEY_SECRETS = settings.KEY_SECRETS, ["another secret"]
    identity._opened.clear()
    [unsigned] = turn()
    settings.KEY_SECRETS = kept
    with socket.create_server(("127.0.0.1", 0)) as probe:
        nobody = f"127.0.0.1:{probe.getsockname()[1]}"
    settings.TARGET_HOSTS = frozenset({crm.host, nobody})
    registered(f"http://{nobody}", now=clock())
    targets.resume(name="crm.example", by=admin, now=clock())
    [refused] = turn(1)
    assert [one.heard.kind for one in (unsigned, refused)] == ["not left", "not left"]
    assert (state(request_), request_.sent_at, request_.tries) == ("requesting", None, 0)
    assert crm.seen("c_1")["requests"] == []
    registered(crm.url, now=clock())
    targets.resume(name="crm.example", by=admin, now=clock())
    turn(1)
    assert state(request_) == "compensating"


def test_x4_after_a_timeout_the_same_key_undoes_once(crm, request_):
    crm.tell("c_1", "hang", seconds=8, times=1)
    [came] = turn()
    assert "no answer within 4 s" in came.heard.why
    assert state(request_) == "requesting"
    turn(1)
    crm.settle()
    assert keys_of(crm) == [str(request_.pk)] * 2
    assert crm.seen("c_1")["undone"] == 1


def test_x5_a_timeout_is_unknown_and_a_late_success_is_accepted(crm, request_, settings):
    settings.REQUEST_TRIES = 1
    crm.tell("c_1", "hang", seconds=8)
    turn()
    assert state(request_) == "unknown"
    crm.settle()
    until(lambda: state(request_) == "compensated")
    assert Callback.objects.get().applied is True
    assert request_.needs_person_since is None


def test_x6_an_older_callback_after_a_newer_one_changes_nothing(crm, request_):
    turn()
    at = clock()
    assert crm.call_back(request_.pk, "done", at=at.isoformat()) == [200]
    assert crm.call_back(request_.pk, "failed", at=(at - timedelta(seconds=9)).isoformat()) == [200]
    assert state(request_) == "compensated"
    assert list(Callback.objects.values_list("applied", flat=True)) == [True, False]
    assert crm.call_back(request_.pk, "done", at=at.isoformat(), repeat=2) == [200, 409]


def test_x7_404_after_an_accepted_request_is_undone(crm, readable):
    crm.tell("c_1", "disappear")
    turn()
    assert state(readable) == "compensating"
    turn(1)
    assert (state(readable), readable.detail) == ("compensated", "undone: the target no longer has it")


def test_x7_404_after_a_read_that_had_just_shown_it_is_undone(crm, readable):
    crm.tell("c_1", "drop_before", times=1)
    turn()
    turn(1)
    crm.tell("c_1", "gone")
    turn(2)
    assert (state(readable), readable.detail) == ("compensated", "undone: the target no longer has it")


def test_x7_404_after_a_request_of_unknown_fate_is_unknown(crm, request_):
    crm.tell("c_1", "drop_before", times=1)
    turn()
    crm.tell("c_1", "gone")
    turn(1)
    assert (state(request_), request_.detail) == ("unknown", "no longer shown by the target, cause unknown")


def test_x7_404_on_the_first_try_is_the_targets_not_knowing_it(crm):
    request = asked(contact("c_never"), now=clock())
    turn()
    assert (state(request), request.detail) == ("refused", "the target does not know it (404)")


def test_x8_202_with_a_location_is_compensating_and_polled_there(crm, request_):
    turn()
    assert (state(request_), request_.status_url) == ("compensating", f"{crm.url}/jobs/1")
    turn(1)
    assert state(request_) == "compensating"
    assert [seen["path"] for seen in crm.seen("c_1")["requests"]] == ["/contacts/c_1", "/jobs/1"]
    Target.objects.update(callback_secret="")  # nobody is heard any more: the answer has to come by asking
    crm.settle()
    turn(2)
    assert (state(request_), request_.detail) == ("compensated", "the target says it is undone")


def test_x9_after_a_drop_the_status_is_asked_first_and_nothing_is_undone_twice(crm, readable):
    crm.tell("c_1", "drop", times=1)
    turn()
    assert state(readable) == "requesting"
    turn(1)
    turn(2)
    crm.settle()
    assert [seen["method"] for seen in crm.seen("c_1")["requests"]] == ["DELETE", "GET", "DELETE"]
    assert set(keys_of(crm)) == {str(readable.pk)}
    assert crm.seen("c_1")["undone"] == 1


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [(120, 120, 190), ("in 300 s", 300, 460), ("soon", 3, 9), ("-5", 3, 9), (315_360_000, 3600, 5500)],
    ids=["seconds", "a date", "garbage", "the past", "ten years"],
)
def test_x10_retry_after_is_honoured_ignored_or_capped(crm, request_, value, least, most):
    began = clock()
    if value == "in 300 s":
        value = format_datetime(began + timedelta(seconds=301), usegmt=True)
    crm.tell("c_1", "busy", retry_after=value)
    turn()
    request_.refresh_from_db()
    assert request_.next_try_at
    assert least <= (request_.next_try_at - began).total_seconds() <= most


@pytest.mark.parametrize(
    ("do", "wanted", "flag"),
    [("redirect", "refused", "redirect"), ("location_elsewhere", "compensating", "elsewhere")],
)
def test_x11_nothing_is_sent_to_another_host_and_it_is_flagged(crm, request_, settings, do, wanted, flag):
    with serving(lambda _seen: (200, {}, b'{"status": "done"}')) as other:
        settings.TARGET_HOSTS = settings.TARGET_HOSTS | {other.host}
        crm.tell("c_1", do, url=f"{other.url}/contacts/c_1")
        for hours in range(3):
            turn(hours)
        assert other.seen == []
    assert (state(request_), request_.flag, request_.status_url) == (wanted, flag, "")


INSIDE = ("169.254.169.254", "localhost", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "127.1")


@pytest.mark.parametrize("host", INSIDE)
def test_x12_a_host_inside_is_refused_at_registration(crm, host):
    with pytest.raises(HostRefusedError):
        registered(f"http://{host}:{crm.port + 1}", name="inside.example", now=clock())
    assert not Target.objects.filter(name="inside.example").exists()


def test_x12_a_host_inside_is_refused_at_the_call(crm, request_, settings):
    settings.TARGET_HOSTS = frozenset({f"127.0.0.1:{crm.port + 1}"})  # exactly another port
    turn()
    assert state(request_) == "requesting"
    assert request_.sent_at is None
    assert crm.seen("c_1")["requests"] == []
    settings.TARGET_HOSTS = frozenset({crm.host})
    turn(1)
    assert state(request_) == "compensating"


@pytest.mark.parametrize(("ahead", "wanted"), [(2, "compensating"), (300, "refused")])
def test_x13_a_token_a_little_ahead_is_accepted_and_one_far_ahead_is_not(crm, request_, ahead, wanted):
    turn(ahead=ahead)
    assert state(request_) == wanted
    assert request_.flag == ("credential" if wanted == "refused" else "")


def test_x14_a_target_takes_only_what_is_made_out_to_it(crm, request_):
    turn()
    assert state(request_) == "compensating"
    registered(crm.url, audience="https://other.example", now=clock())
    crm.create("c_2")
    wrong = asked(contact("c_2"), now=clock())
    turn()
    assert (state(wrong), wrong.flag) == ("refused", "credential")
    assert crm.seen("c_2")["requests"] == []
    with pytest.raises(targets.BadTargetError, match="audience"):
        registered(crm.url, audience="", now=clock())


def test_b3_the_sweep_runs_twice_and_flags_once(crm, request_):
    turn()
    for hours in (2, 2, 3):
        stale.flag(by=WORKER, now=clock() + timedelta(hours=hours))
    assert len(bodies("went_stale")) == 1
    request_.refresh_from_db()
    assert request_.stale_since == request_.stale_at


def test_b4_beat_was_off_for_two_days_and_the_first_run_flags_everything_overdue(crm):
    for number in range(3):
        crm.create(f"c_{number}")
        crm.tell(f"c_{number}", ("accept", "unavailable", "refuse")[number])
    waiting, down, no = [asked(contact(f"c_{number}"), now=clock()) for number in range(3)]
    turn()
    assert [state(one) for one in (waiting, down, no)] == ["compensating", "requesting", "refused"]
    assert stale.flag(by=WORKER, now=clock() + timedelta(days=2)) == 2
    assert stale.flag(by=WORKER, now=clock() + timedelta(days=2)) == 0
    assert len(bodies("went_stale")) == 2


def test_an_update_is_undone_by_its_own_way_back_and_only_from_its_own_version(crm):
    by = factories.planner()
    contact(by=by)
    for id_, version in (("c_1", "v7"), ("c_2", "v9")):
        crm.create(id_, version=version)
        declared = Declared("contact", id_, Operation.UPDATE, version="v7")
        group = factories.report(by, [declared], tool="crm.example.create_contact", arguments={"n": id_}).group
        assert group is not None
        asked(group, now=clock())
    turn()
    crm.settle()
    held, other = Request.objects.order_by("effect__object_id")
    until(lambda: state(held) == "compensated")
    assert (crm.seen("c_1")["undone"], crm.seen("c_1")["present"]) == (1, True)
    assert (state(other), crm.seen("c_2")["undone"]) == ("refused", 0)
    assert "another version" in other.detail
