"""Does undo-ttl refuse exactly the plans that some execution breaks, and does every fix hold?"""

import itertools
import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.core import artifact, canonical, rules, screen
from plans.core.columns import Columns
from plans.core.verdict import PROFILES
from tests.unit.plans.samples import FIXTURES, NOW, chain, fixture, found, judge, with_step

LONG = 7  # stands for "as long as it likes": longer than any window drawn here


def lapses(durations, windows):
    """Search every execution in whole seconds for one in which a window closes before the pivot begins."""
    possible = [range((LONG if bound is None else bound) + 1) for bound in durations]
    for taken in itertools.product(*possible):
        begins = [0, *itertools.accumulate(taken)]
        pivot = begins[-1]
        if any(window and begins[index] + window < pivot for index, window in enumerate(windows)):
            return True
    return False


def steps(most: int, longest: int):
    step = st.tuples(st.none() | st.integers(0, longest), st.none() | st.integers(1, 6))
    return st.lists(step, max_size=most)


def _agrees(drawn) -> None:
    durations, windows = [duration for duration, _ in drawn], [window for _, window in drawn]
    verdict = judge(chain(durations, windows))
    assert ("undo-ttl" in {rule for rule, _ in found(verdict)}) is lapses(durations, windows)
    example = verdict.counterexample
    assert (example is not None) is (not verdict.ok)
    if example is not None:  # it is an execution within the bounds, and the window does close before the pivot begins
        taken = [end - begin for begin, end in zip(example.begins, example.ends, strict=True)]
        assert all(bound is None or 0 <= took <= bound for took, bound in zip(taken, durations, strict=True))
        assert list(example.begins) == [0, *itertools.accumulate(taken)][:-1]
        assert example.begins[example.holder] + windows[example.holder] == example.closes < example.pivot_begins


@settings(max_examples=60, deadline=None)
@given(steps(4, 3))
def test_undo_ttl_refuses_if_and_only_if_an_execution_lets_a_window_lapse(drawn):
    _agrees(drawn)


@pytest.mark.soak
@settings(max_examples=400, deadline=None)
@given(steps(6, 3))
def test_undo_ttl_is_exact_for_plans_of_seven_steps(drawn):
    _agrees(drawn)


ids = st.sampled_from(["s0", "s1", "s2", "s3", "x", "s1:y"])
kinds = st.sampled_from(["compensable", "retriable", "irreversible"])
amounts = st.sampled_from([0, 1, 5, 99, 0.1, 12.5, 250])
keys = st.sampled_from(["plain", "hash", "stale", "other", None])


@st.composite
def plans(draw):
    """Draw plans that are sound, or broken in several ways at once."""
    plan = fixture("sound")
    plan["pivotIndex"] = draw(st.sampled_from([2, 2, 2, 0, 1, 3, 4, 9]))
    plan["mandate"] = {"maxSpendEur": draw(amounts), "expiresAt": draw(st.sampled_from(EXPIRIES))}
    for index in draw(st.sets(st.integers(0, 3), max_size=2)):
        changes = {
            "id": draw(ids),
            "class": draw(kinds),
            "maxSpendEur": draw(st.none() | amounts),
            "maxDurationSeconds": draw(st.none() | st.integers(0, 90_000)),
            "undoTtlSeconds": draw(st.none() | st.integers(1, 200_000)),
            "compensation": draw(
                st.sampled_from([None, {"tool": "u"}, {"tool": "u", "args": {"a": "$s2.x", "b": [1.5]}}])
            ),
        }
        some = draw(st.sets(st.sampled_from(sorted(changes)), max_size=3))
        plan = with_step(plan, index, **{name: changes[name] for name in some if changes[name] or name not in NEEDED})
    for step in plan["steps"]:
        kind = draw(keys) if draw(st.integers(0, 3)) == 0 else "plain"
        plain, stale = canonical.key("sg_library", step), f"sg_library:{step['id']}:{'0' * 64}"
        whole = canonical.key("sg_library", step, whole=True)
        step["idempotencyKey"] = {"plain": plain, "hash": whole, "stale": stale, "other": "x", None: plain}[kind]
        if kind is None:
            del step["idempotencyKey"]
    return plan


NEEDED = ("id", "class")
EXPIRIES = ["2027-01-31T18:00:00Z"] * 4 + ["2026-11-30T01:00:00Z", "2026-11-29T00:00:00+05:00", "2027-01-31"]


def _fixes_hold(plan, profile) -> None:
    verdict = judge(plan, profile)
    for fix in verdict.fixes:
        assert judge(fix.plan_bytes, profile).ok
        assert _patched(plan, [edit.as_json() for edit in fix.edits]) == json.loads(fix.plan_bytes)


def _patched(plan, operations):
    """Apply JSON Patch operations the way a client would."""
    plan = json.loads(json.dumps(plan))
    for operation in operations:
        *parents, last = operation["path"].split("/")[1:]
        owner = plan
        for part in parents:
            owner = owner[int(part)] if isinstance(owner, list) else owner[part]
        if operation["op"] == "remove":
            del owner[last]
        else:
            owner[last] = operation["value"]
    return plan


@settings(max_examples=80, deadline=None)
@given(plans(), st.sampled_from(PROFILES))
def test_every_fix_that_is_offered_validates_under_the_profile_in_use(plan, profile):
    _fixes_hold(plan, profile)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_every_fix_of_every_fixture_validates(path, profile):
    _fixes_hold(fixture(path.stem), profile)


def test_the_article_s_plan_is_offered_both_ways_out_and_each_validates():
    fixes = {fix.name: fix for fix in judge(fixture("article")).fixes}
    assert list(fixes) == ["deadline", "windows", "decision"]
    assert json.loads(fixes["deadline"].plan_bytes)["steps"][1]["maxDurationSeconds"] == 86_040
    assert json.loads(fixes["windows"].plan_bytes)["steps"][0]["undoTtlSeconds"] == 432_360
    assert json.loads(fixes["decision"].plan_bytes)["pivotIndex"] == 1


@settings(max_examples=150, deadline=None)
@given(plans(), st.sampled_from([0, 2, None]))
def test_the_screen_passes_nothing_that_the_rules_would_refuse(plan, indent):
    data = json.dumps(plan, indent=indent, separators=(",", ":") if indent is None else None).encode()
    plan = artifact.decode(data)
    if plan is not None and screen.is_sound(data, plan, NOW):
        assert not rules.violations(Columns(plan, NOW))


@pytest.mark.parametrize("name", ["sound", *(path.stem for path in FIXTURES.glob("warn-*.json"))])
def test_the_screen_passes_what_is_accepted(name):
    data = json.dumps(fixture(name)).encode()
    plan = artifact.decode(data)
    assert plan is not None
    assert screen.is_sound(data, plan, NOW)
    assert not screen.is_sound(data, plan, NOW + timedelta(days=100))


def test_the_fast_and_the_slow_way_judge_alike():
    for path in FIXTURES.glob("*.json"):
        fast, slow = judge(path.read_bytes()), judge(path.read_bytes().replace(b'"s1"', b'"s\\u0031"', 1))
        assert not ((plan := artifact.decode(slow.data)) and artifact.kept_every_member(slow.data, plan))
        assert found(fast) == found(slow)
        assert [remark.message for remark in fast.warnings] == [remark.message for remark in slow.warnings]
        assert fast.digest == slow.digest
