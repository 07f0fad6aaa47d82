"""Does the agent's client tell the console what happened, no more, and lose nothing that a tool returned?"""

from functools import partial
from itertools import count

import pytest

from sideeffects.client import (
    CalledBeforeError,
    Console,
    DeclarationDiffersError,
    NotAnnouncedError,
    NotDeclaredError,
    NotLandedError,
    ProblemError,
)
from sideeffects.models import Declaration, Effect, Group
from tests.fakes import serving
from tests.integration.api.conftest import thing

pytestmark = pytest.mark.django_db(transaction=True)
TOOL = "crm.create_contact"
SECRET = "sk-live-4711"


def states():
    return list(Group.objects.order_by("pk").values_list("state", "reason"))


def lost(console, *, on, times, arrives):
    """Lose answers: of calls to addresses with these words, so many, before or after they have arrived."""
    real, left = console._once, count(times, -1)

    def once(method, url, data, key):
        losing = on in url and method == "POST" and next(left) > 0
        answer = real(method, url, data, key) if arrives or not losing else None
        if losing:
            raise ConnectionResetError(SECRET)
        return answer

    console._once = once


def test_a_call_is_announced_before_its_tool_runs_and_lands_with_what_it_declares(console):
    with console.call(TOOL, {"n": 1}, conversation="c1", run="r1", idempotency_key='k "1"') as call:
        assert [group["id"] for group in console.groups(state="open")] == [call.group]
        assert call.returned({"id": "4711"}) == {"id": "4711"}
        call.declare([thing("4711")])
        call.declare([thing(f"n{number}") for number in range(120)])
    group = console.group(call.group)
    assert (group["state"], group["standing"], group["declared"], group["run"]) == ("landed", "standing", 121, "r1")
    assert call.answer["id"] == call.group
    members = list(console.effects(call.group))
    assert [member["id"] for member in members][:2] == ["4711", "n0"]
    assert len(members) == 121
    with pytest.raises(ProblemError) as refused:
        console.revoke(call.group)
    assert (refused.value.status, refused.value.members["group"]) == (409, call.group)
    assert Console(console.url, "x").tries > 1
    assert console._token not in repr(console) + repr(vars(refused.value))


class ReadTimeoutError(Exception):
    """As HTTP libraries have them, of no common base."""


def test_an_exception_says_that_nothing_was_written_only_where_that_is_known(console):
    ends = [
        (lambda _call: ValueError(SECRET), ("failed", "ValueError")),
        (lambda _call: ReadTimeoutError(SECRET), ("lost", "ReadTimeoutError")),
        (lambda _call: TimeoutError(SECRET), ("lost", "TimeoutError")),
        (lambda _call: KeyboardInterrupt(), ("lost", "KeyboardInterrupt")),
        (lambda call: call.returned(KeyError("id")), ("lost", "KeyError")),
        (lambda call: call.declare([thing("1")]) or KeyError(SECRET), ("landed", "")),
        (lambda call: call.fail("told me so") or ValueError(SECRET), ("failed", "told me so")),
    ]
    for number, (end, _) in enumerate(ends):
        with (
            pytest.raises((Exception, KeyboardInterrupt)) as raised,
            console.call(TOOL, {"n": number}, conversation="c1") as call,
        ):
            raise end(call)
        assert type(raised.value).__module__ != "sideeffects.client"
    assert states() == [expected for _, expected in ends]
    with console.call(TOOL, {"n": 0}, conversation="c1") as call:
        call.declare([])
    assert states()[-1] == ("landed", "")  # a failed call uses up no key


def test_what_is_not_declared_is_lost_and_may_still_land(console):
    with pytest.raises(NotDeclaredError), console.call(TOOL, {"n": 1}, conversation="c1") as call:
        pass
    assert states() == [("lost", "it ended without a declaration")]
    call.declare([thing("1")])
    call.land()
    with console.call(TOOL, {"n": 2}, conversation="c1") as call:
        call.lose("no answer yet")
        assert states()[-1] == ("lost", "no answer yet")
        call.declare([thing("2")])
    assert [state for state, _ in states()] == ["landed", "landed"]
    assert Effect.objects.count() == 2


def test_a_call_that_is_known_already_does_not_run_unless_it_is_meant(console):
    with console.call(TOOL, {"n": 1}, conversation="c1") as first:
        first.declare([thing("1")])
    console.call(TOOL, {"n": 2}, conversation="c1").__enter__()  # and then nothing more is heard of it
    for number, state in ((1, "landed"), (2, "open")):
        with pytest.raises(CalledBeforeError) as known, console.call(TOOL, {"n": number}, conversation="c1"):
            raise AssertionError
        assert known.value.state == state
        assert known.value.group in str(known.value)
    with console.call(TOOL, {"n": 1}, conversation="c1", idempotency_key="again") as other:
        other.declare([thing("2")])
    assert other.group != first.group
    repeat = console.call(TOOL, {"n": 1}, conversation="c1", again=True)
    with pytest.raises(DeclarationDiffersError) as differs, repeat as call:
        call.declare([thing(call.returned("3")), thing("1")])
    assert (differs.value.group, differs.value.call.result) == (first.group, "3")
    assert [member["id"] for member in differs.value.difference["only_second"]] == ["3"]
    assert differs.value.conflict == str(Declaration.objects.get(held=False).pk)
    assert "1 only_second" in str(differs.value)


def test_answers_that_get_lost_are_asked_for_again_and_nothing_happens_twice(console):
    for number, (on, arrives) in enumerate([("tool-calls", True), ("/land", True), ("/land", False)]):
        lost(console, on=on, times=console.tries - 1, arrives=arrives)
        with console.call(TOOL, {"n": number}, conversation="c1") as call:
            call.declare([thing(str(number))])
    assert [state for state, _ in states()] == ["landed"] * 3
    assert (Effect.objects.count(), Declaration.objects.count()) == (3, 3)


def test_a_console_that_does_not_answer_stops_the_tool_before_and_loses_nothing_after(console):
    lost(console, on="tool-calls", times=console.tries, arrives=False)
    with pytest.raises(NotAnnouncedError, match="has not run"), console.call(TOOL, {"n": 1}, conversation="c1"):
        raise AssertionError
    assert states() == []
    lost(console, on="/land", times=console.tries, arrives=False)
    with pytest.raises(NotLandedError) as open_, console.call(TOOL, {"n": 1}, conversation="c1") as call:
        call.declare([thing(call.returned("4711"))])
    assert states() == [("open", "")]
    assert open_.value.call.result == "4711"
    assert f"{console.url}/api/v1/tool-calls/{call.group}/land" in str(open_.value)
    assert SECRET not in str(open_.value)
    assert open_.value.call.land()["state"] == "landed"
    lost(console, on="/fail", times=console.tries, arrives=False)
    with pytest.raises(ValueError, match="mine") as own, console.call(TOOL, {"n": 2}, conversation="c1"):
        raise ValueError("mine")
    assert "gave no usable answer" in own.value.__notes__[0]


def test_what_cannot_be_said_in_json_leaves_the_group_open_with_a_way_to_land_it(console):
    with pytest.raises(NotLandedError) as open_, console.call(TOOL, {"n": 1}, conversation="c1") as call:
        call.declare([thing("1", title={1, 2})])
    call.declared = [thing("1", title="one")]
    call.land()
    with pytest.raises(NotLandedError) as open_, console.call(TOOL, {"n": 2}, conversation="c1") as call:
        call.declare([thing("2", operation="cretae")])
    assert isinstance(open_.value.why, ProblemError)
    assert open_.value.why.members["errors"][0]["member"] == "effects[0].operation"
    assert [state for state, _ in states()] == ["landed", "open"]
    with pytest.raises(TypeError), console.call(TOOL, {"n": {1}}, conversation="c1"):
        raise AssertionError


def test_a_redirect_is_not_followed_with_the_token_and_a_stranger_is_not_believed():
    with serving(lambda _seen: None) as stranger:
        console = Console(stranger.url, "token", tries=1)
        for answer in ((302, {"Location": "/elsewhere"}, b""), (200, {}, b"<html>"), None):
            stranger.decide = partial(lambda said, _seen: said, answer)
            with pytest.raises((ProblemError, NotAnnouncedError)), console.call(TOOL, {}, conversation="c1"):
                raise AssertionError
        assert {seen.path for seen in stranger.seen} == {"/api/v1/tool-calls"}
    for url, token in (("ftp://x", "t"), ("http://x", "t\nX: y"), ("http://x", "")):
        with pytest.raises(ValueError, match=r"^(The console's|An agent's)"):
            Console(url, token)
