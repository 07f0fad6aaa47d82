"""Does the gate let begin exactly what can still be taken back until the pivot? One second before and after."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.core import gates, script, windows
from plans.core.lifecycle import ExecutionState, ExecutionStateError, after
from plans.core.script import Ran, RunState, Script
from plans.core.words import taken
from tests.executions import six
from tests.unit.plans.samples import NOW, chain, judge

BEGUN, COMPLETED = RunState.BEGUN, RunState.COMPLETED
NOTHING = Decimal(0)


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def of(plan, humans=()):
    verdict = judge(plan)
    assert verdict.ok, verdict.violations
    return script.of(verdict, humans=humans)


def done(index, begun, ended, held=0):
    return Ran(index, COMPLETED, at(begun), at(ended), Decimal(held))


def ask(plan: Script, ran, index, moment, elsewhere=NOTHING):
    """Return the refusal of a step, by name; nothing where it may begin."""
    now = moment if isinstance(moment, datetime) else at(moment)
    past = {one.index: one for one in ran}
    try:
        gates.check_begin(plan, past, plan.steps[index], now=now, elsewhere=elsewhere)
    except gates.GateClosedError as error:
        return error
    return None


def name(refusal):
    return type(refusal).__name__.removesuffix("Error") if refusal else ""


# s0 has a window of exactly what it takes until the pivot: 60 + 60 + 600 s.
CHAIN = chain([60, 60, 600], [720, 3600, None])
PAST = [done(0, 0, 60), done(1, 60, 120), done(2, 120, 720)]
GATES = [
    # the plan, what ran, the step, the last moment at which it may begin, and why not a second later
    (CHAIN, [], 0, (NOW.replace(year=2027, month=1, day=1) - timedelta(seconds=1)), "MandateExpired"),
    (CHAIN, PAST[:1], 1, at(60), "WindowWouldLapse"),
    (CHAIN, [done(0, 0, 20)], 1, at(60), "WindowWouldLapse"),
    (CHAIN, PAST[:2], 2, at(120), "WindowWouldLapse"),
    (CHAIN, PAST, 3, at(720), "WindowLapsed"),
    (
        chain([60, 60], [None, None]),
        [done(0, 0, 60)],
        1,
        datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC),
        "MandateExpired",
    ),
]


@pytest.mark.parametrize(("plan", "ran", "index", "last", "refusal"), GATES)
def test_a_step_may_begin_until_the_last_second_and_not_one_later(plan, ran, index, last, refusal):
    plan = of(plan)
    assert ask(plan, ran, index, last - timedelta(seconds=1)) is None
    assert ask(plan, ran, index, last) is None
    assert name(ask(plan, ran, index, last + timedelta(seconds=1))) == refusal


def test_a_step_that_took_a_second_too_long_blocks_up_to_the_pivot():
    plan = of(chain([60, 60], [3600, 3600]))
    assert ask(plan, [done(0, 0, 60)], 1, 61) is None
    late = ask(plan, [done(0, 0, 61)], 1, 61)
    assert name(late) == "StepOverdue"
    assert (late.window, late.closes_at) == ("s0", at(3600))
    running = Ran(0, BEGUN, at(0))
    assert name(ask(plan, [running], 1, 60)) == "OutOfOrder"
    assert name(ask(plan, [running], 1, 61)) == "StepOverdue"
    assert name(ask(plan, [done(0, 0, 61), done(1, 61, 62)], 2, 62)) == "StepOverdue"
    assert gates.overdue(plan.steps[0], running, at(60)) is False


def test_after_the_pivot_what_took_long_does_not_keep_the_rest():
    plan = six()
    plan["steps"][4]["maxDurationSeconds"] = 1
    plan = of(plan, humans={"human.approve"})
    ran = [done(0, 0, 1), done(1, 1, 2), done(2, 2, 3), done(3, 3, 4), done(4, 4, 5000)]
    assert ask(plan, ran, 5, 5001) is None


def test_steps_begin_once_and_in_their_order():
    plan = of(CHAIN)
    assert name(ask(plan, [], 1, 0)) == "OutOfOrder"
    assert name(ask(plan, PAST[:1], 2, 60)) == "OutOfOrder"
    assert name(ask(plan, PAST[:1], 0, 60)) == "AlreadyBegun"
    assert name(ask(plan, [Ran(0, BEGUN, at(0))], 0, 1)) == "AlreadyBegun"
    assert name(ask(plan, [Ran(0, RunState.FAILED, at(0), at(1))], 0, 1)) == "AlreadyBegun"


def test_what_is_retriable_after_the_pivot_may_begin_again():
    plan = of(six(), humans={"human.approve"})
    ran = [done(0, 0, 1), done(1, 1, 2), done(2, 2, 3), done(3, 3, 4), done(4, 4, 5)]
    assert ask(plan, [*ran, Ran(5, RunState.FAILED, at(6), at(7))], 5, 8) is None
    assert name(ask(plan, [*ran, Ran(5, BEGUN, at(6))], 5, 8)) == "AlreadyBegun"


def test_the_mandate_is_summed_and_never_twice():
    plan = of(six(), humans={"human.approve"})
    assert ask(plan, [done(0, 0, 1, held=10)], 1, 2) is None
    assert ask(plan, [done(0, 0, 1, held=80)], 1, 2) is None
    over = ask(plan, [done(0, 0, 1, held=80)], 1, 2, elsewhere=Decimal("0.01"))
    assert name(over) == "OverMandate"
    assert "20 EUR" in str(over)
    tenths = chain([60], [None])
    tenths["mandate"]["maxSpendEur"] = 0.3
    tenths["steps"] = [{**tenths["steps"][0], "id": f"s{i}", "maxSpendEur": 0.1} for i in range(3)] + tenths["steps"][
        1:
    ]
    tenths["pivotIndex"] = 3
    spent = [Ran(i, COMPLETED, at(i), at(i + 1), Decimal("0.1")) for i in range(2)]
    assert ask(of(tenths), spent, 2, 3) is None


def test_an_approval_that_nobody_gave_may_be_asked_anew_while_the_windows_allow_it():
    loose = six()
    loose["steps"][0]["undoTtlSeconds"] = 1500
    plan = of(loose, humans={"human.approve"})
    ran = [done(0, 0, 1), done(1, 1, 2), Ran(2, BEGUN, at(3))]
    assert name(ask(plan, ran, 2, 603)) == "AlreadyBegun"
    assert ask(plan, ran, 2, 604) is None
    assert ask(plan, ran, 2, 1500 - 660) is None
    assert name(ask(plan, ran, 2, 1501 - 660)) == "WindowWouldLapse"
    assert name(ask(plan, ran, 3, 604)) == "StepOverdue"  # the next one is blocked until somebody decides


def test_daylight_saving_neither_lengthens_nor_shortens_a_window():
    berlin = ZoneInfo("Europe/Berlin")
    for utc in (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 3, 29, 0, 30, tzinfo=UTC)):
        local = utc.astimezone(berlin)
        plan = of(chain([3600, 3600], [7200, None]))
        ran = [Ran(0, COMPLETED, local, (utc + timedelta(hours=1)).astimezone(berlin))]
        ends = [utc + timedelta(seconds=3600 + more) for more in (0, 1)]
        asked = [name(ask(plan, ran, 1, end.astimezone(berlin))) for end in ends]
        assert asked == ["", "WindowWouldLapse"]
        [window] = windows.held(plan, {0: ran[0]})
        assert window.closes_at == utc + timedelta(hours=2)


def test_a_clock_that_is_put_back_opens_no_window_again():
    plan = of(CHAIN)
    ran = [done(0, 0, 60), done(1, 60, 121)]
    assert windows.moment({one.index: one for one in ran}, at(10)) == at(121)
    assert name(ask(plan, [done(0, 0, 60), done(1, 60, 120)], 2, -500)) == ""
    tight = of(chain([60, 60, 600], [720, 3600, None]))
    assert name(ask(tight, [done(0, 0, 60), replace(done(1, 61, 121))], 2, 0)) == "WindowWouldLapse"


def test_every_refusal_up_to_the_pivot_names_the_window_and_when():
    plan = of(CHAIN)
    for ran, index, moment in ((PAST[:1], 1, 61), (PAST[:2], 2, 121), (PAST, 3, 721), (PAST[:1], 2, 60)):
        refusal = ask(plan, ran, index, moment)
        assert (refusal.window, refusal.closes_at) == ("s0", at(720))
    assert "s0 closes at 2026-11-30 00:12:00 UTC" in str(ask(plan, PAST[:1], 1, 61))


def test_it_warns_before_a_step_that_leaves_little():
    plan = of(CHAIN)
    said = gates.cautions(plan, {0: PAST[0]}, plan.steps[1], now=at(60))
    assert said == [
        "The pivot declares no bound, so the undo window of s0 may close while it runs.",
        "Begun now, the undo window of s0 has 0 s to spare.",
    ]
    assert gates.cautions(plan, {}, plan.steps[0], now=at(0)) == []


def test_a_window_is_closing_an_hour_before_its_end_or_in_its_last_quarter():
    plan = of(chain([60, 60], [86_400, 400]))
    ran = {0: done(0, 0, 1), 1: done(1, 10, 11)}
    assert [one.perishes_at for one in windows.held(plan, ran)] == [at(310), at(82_800)]


def test_the_table_says_what_moves_an_execution():
    assert after(ExecutionState.RUNNING, "roll_back") is ExecutionState.ROLLING_BACK
    with pytest.raises(ExecutionStateError):
        after(ExecutionState.FINISHED, "roll_back")


# -- Any plan, any execution -----------------------------------------------------------------------------------------

COUNT = st.integers(0, 40)


@st.composite
def accepted(draw):
    """Give an accepted plan: windows may be exactly as long as needed, or longer."""
    durations = draw(st.lists(COUNT, min_size=1, max_size=6))
    needs = [sum(durations[index:]) for index in range(len(durations))]
    spare = draw(st.lists(st.none() | st.integers(0, 30), min_size=len(needs), max_size=len(needs)))
    given_windows = [None if more is None else max(1, need + more) for need, more in zip(needs, spare, strict=True)]
    return of(chain(list(durations), given_windows))


def walk(plan, seed, healthy):
    """Walk a random execution; `healthy` steps keep their bounds, waits between them are anybody's."""
    chance = random.Random(seed)
    ran: dict[int, Ran] = {}
    now = 0
    for step in plan.steps[: plan.pivot + 1]:
        now += chance.choice([0, 0, 0, 1, chance.randint(0, 60)])
        refusal = ask(plan, ran.values(), step.index, now)
        open_ = [window for window in windows.held(plan, ran) if window.closes_at >= at(now)]
        if refusal is not None:
            held = windows.held(plan, ran)
            assert (refusal.window is not None) == bool(held)
            named = held[:1] if name(refusal) == "WindowLapsed" else (open_ or held[-1:])[:1]
            assert [window.closes_at for window in named] == ([refusal.closes_at] if held else [])
            late = windows.latest_begin(plan, ran, step.index)
            overrun = any(gates.overdue(plan.steps[index], one, at(now)) for index, one in ran.items())
            assert overrun or (late is not None and at(now) > late[0])
            return
        if step.index == plan.pivot:
            assert len(open_) == len(windows.held(plan, ran))
            return
        took = chance.randint(0, step.duration) if healthy else chance.randint(0, step.duration + 20)
        ran[step.index] = Ran(step.index, BEGUN, at(now))
        if chance.random() < 0.2:  # it fails, within its bound or beyond
            kept = took <= step.duration and not any(
                gates.overdue(plan.steps[i], one, at(now)) for i, one in ran.items()
            )
            closed = [window for window in windows.held(plan, ran) if window.closes_at < at(now + took)]
            assert not (kept and closed)
            return
        now += took
        ran[step.index] = Ran(step.index, COMPLETED, ran[step.index].begun_at, at(now))


@settings(deadline=None, max_examples=200)
@given(accepted(), st.integers(0, 2**32), st.booleans())
def test_the_pivot_never_begins_over_a_closed_window_and_a_kept_promise_can_be_taken_back(plan, seed, healthy):
    walk(plan, seed, healthy)


@pytest.mark.soak
@settings(deadline=None, max_examples=5_000)
@given(accepted(), st.integers(0, 2**32), st.booleans())
def test_so_it_is_in_five_thousand_executions(plan, seed, healthy):
    walk(plan, seed, healthy)


def test_what_took_too_long_never_reads_like_what_it_may_take():
    said = [taken(1.04, 1), taken(1, 1), taken(61, 60), taken(7200.5, 7200), taken(90, 1), taken(0, 5)]
    assert said == ["1.1 s", "1 s", "1 min 1 s", "2 h and 0.5 s", "1 min 30 s", "0 s"]
