"""Is every row of the table of answers right, on a first try, after an accepted request, after one of unknown fate?"""

import itertools

import pytest

from sideeffects.targets.answers import Heard, Kind, Next, Phase, Said, of_read, of_send, pointed, said_by
from sideeffects.transitions import EffectState

FIRST, ACCEPTED, UNKNOWN = Phase.FIRST, Phase.ACCEPTED, Phase.UNKNOWN
ANY = (FIRST, ACCEPTED, UNKNOWN)


def answered(status, said=Said.NOTHING):
    return Heard(kind=Kind.ANSWERED, status=status, said=said)


NOT_LEFT = Heard(kind=Kind.NOT_LEFT, why="name unknown")
TIMEOUT = Heard(kind=Kind.NO_ANSWER, why="no answer within 10 s")

# what came, phases, action, next with a status address, next without one
ROWS = [
    *[(NOT_LEFT, phase, "", Next.SEND, Next.SEND) for phase in ANY],
    *[(answered(200), phase, "accept", Next.ASK, Next.NOTHING) for phase in ANY],
    *[(answered(202), phase, "accept", Next.ASK, Next.NOTHING) for phase in ANY],
    *[(answered(204), phase, "accept", Next.ASK, Next.NOTHING) for phase in ANY],
    *[(answered(200, Said.PENDING), phase, "accept", Next.ASK, Next.NOTHING) for phase in ANY],
    *[(answered(200, Said.DONE), phase, "confirm", Next.NOTHING, Next.NOTHING) for phase in ANY],
    *[(answered(200, Said.FAILED), phase, "refuse", Next.NOTHING, Next.NOTHING) for phase in ANY],
    *[
        (answered(status), phase, "refuse", Next.NOTHING, Next.NOTHING)
        for status in (301, 302, 307, 308, 400, 401, 403, 405, 409, 412, 422, 451)
        for phase in ANY
    ],
    *[
        row
        for status in (404, 410)
        for row in [
            (answered(status), FIRST, "refuse", Next.NOTHING, Next.NOTHING),
            (answered(status), ACCEPTED, "confirm", Next.NOTHING, Next.NOTHING),
            (answered(status), UNKNOWN, "lose_contact", Next.PERSON, Next.PERSON),
        ]
    ],
    *[(answered(status), phase, "", Next.SEND, Next.SEND) for status in (429, 503) for phase in ANY],
    *[(answered(status), phase, "", Next.ASK, Next.SEND) for status in (500, 502, 504, 599) for phase in ANY],
    *[(TIMEOUT, phase, "", Next.ASK, Next.SEND) for phase in ANY],
]


@pytest.mark.parametrize(("heard", "phase", "action", "asks", "blind"), ROWS)
def test_every_answer_to_a_compensation(heard, phase, action, asks, blind):
    for can_ask, wanted in ((True, asks), (False, blind)):
        verdict = of_send(heard, phase=phase, can_ask=can_ask, tries_left=True)
        assert (verdict.action, verdict.next) == (action, wanted)
        assert verdict.detail


@pytest.mark.parametrize("phase", ANY)
@pytest.mark.parametrize("can_ask", [True, False])
def test_the_last_try_ends_with_a_person_and_claims_no_more_than_is_known(phase, can_ask):
    last = {"phase": phase, "can_ask": can_ask, "tries_left": False}
    assert of_send(answered(503), **last).action == ""
    assert of_send(answered(503), **last).next is Next.PERSON
    for heard in (TIMEOUT, answered(500)):
        assert of_send(heard, **last).action == "lose_contact"
        assert of_send(heard, **last).next is Next.PERSON
    assert of_send(NOT_LEFT, **last).next is Next.SEND  # nothing left, so nothing is used up


def test_a_refusal_after_a_try_of_unknown_fate_says_that_the_earlier_one_may_have_acted():
    verdict = of_send(answered(403), phase=UNKNOWN, can_ask=True, tries_left=True)
    assert (verdict.flag, "may have acted" in verdict.detail) == ("credential", True)


@pytest.mark.parametrize(
    ("heard", "phase", "state", "of_job", "action", "next_"),
    [
        (answered(200, Said.DONE), UNKNOWN, "requesting", False, "confirm", Next.NOTHING),
        (answered(200, Said.FAILED), UNKNOWN, "requesting", False, "refuse", Next.NOTHING),
        (answered(200, Said.PENDING), UNKNOWN, "requesting", False, "accept", Next.ASK),
        (answered(200), UNKNOWN, "requesting", False, "", Next.SEND),
        (answered(404), UNKNOWN, "requesting", False, "lose_contact", Next.PERSON),
        (answered(404), ACCEPTED, "requesting", False, "confirm", Next.NOTHING),
        (answered(404), ACCEPTED, "compensating", False, "confirm", Next.NOTHING),
        (answered(404), ACCEPTED, "compensating", True, "", Next.ASK),
        (answered(200), ACCEPTED, "compensating", False, "", Next.ASK),
        (answered(200, Said.PENDING), ACCEPTED, "compensating", True, "", Next.ASK),
        (answered(200, Said.DONE), ACCEPTED, "compensating", True, "confirm", Next.NOTHING),
        (answered(500), ACCEPTED, "compensating", True, "", Next.ASK),
        (answered(302), ACCEPTED, "compensating", True, "", Next.PERSON),
        (TIMEOUT, UNKNOWN, "requesting", False, "", Next.ASK),
        (NOT_LEFT, UNKNOWN, "requesting", False, "", Next.ASK),
    ],
)
def test_every_answer_to_a_question(heard, phase, state, of_job, action, next_):
    verdict = of_read(heard, phase=phase, state=EffectState(state), of_job=of_job, tries_left=True)
    assert (verdict.action, verdict.next) == (action, next_)


def test_asking_ends_too_where_nothing_was_ever_accepted():
    verdict = of_read(TIMEOUT, phase=UNKNOWN, state=EffectState.REQUESTING, of_job=False, tries_left=False)
    assert (verdict.action, verdict.next) == ("lose_contact", Next.PERSON)
    verdict = of_read(answered(401), phase=ACCEPTED, state=EffectState.COMPENSATING, of_job=True, tries_left=False)
    assert (verdict.action, verdict.next) == ("", Next.PERSON)


def test_nothing_is_ever_confirmed_but_by_the_targets_word_or_its_absence_after_acceptance():
    for status, phase, said in itertools.product(range(100, 600), ANY, Said):
        verdict = of_send(answered(status, said), phase=phase, can_ask=True, tries_left=True)
        if verdict.action == "confirm":
            assert (200 <= status < 300 and said is Said.DONE) or (status in {404, 410} and phase is ACCEPTED)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"status": "done"}, Said.DONE),
        ({"status": "SUCCEEDED"}, Said.DONE),
        ({"status": "failed"}, Said.FAILED),
        ({"status": "pending"}, Said.PENDING),
        ({"status": "undone?"}, Said.NOTHING),
        ({"status": {"status": "done"}}, Said.NOTHING),
        ([], Said.NOTHING),
        (None, Said.NOTHING),
    ],
)
def test_a_body_says_what_the_mapping_declares_and_nothing_else(body, said):
    mapping = {"pointer": "/status", "done": ["done", "succeeded"], "failed": ["failed"], "pending": ["pending"]}
    assert said_by(body, mapping) is said
    assert said_by(body, {}) is Said.NOTHING


def test_pointers_are_those_of_rfc_6901():
    body = {"a/b": [{"m~n": 1}, {"x": True}]}
    assert pointed(body, "/a~1b/0/m~0n") == 1
    assert pointed(body, "/a~1b/1/x") is True
    assert pointed(body, "/a~1b/7/x") is None
