"""Are the same calls and the same declarations told to be the same, and no others?"""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sideeffects.declarations import (
    Declared,
    NotCanonicalError,
    declaration_digest,
    difference,
    explicit_key,
    fingerprint,
    group_key,
)
from sideeffects.transitions import Operation

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=12,
)
arguments = st.dictionaries(texts, values, max_size=4)
declared = st.builds(
    Declared,
    type=st.sampled_from(["contact", "note"]),
    id=st.sampled_from(["", "1", "2", "3"]),
    operation=st.sampled_from(Operation),
    title=st.sampled_from(["", "a", "b"]),
    version=st.sampled_from(["", "v1", "v2"]),
)

few = settings(max_examples=25)  # every one of them is small, and there are many
declarations = st.lists(declared, max_size=6)


def same(one, other):
    return fingerprint(tool="t", arguments=one) == fingerprint(tool="t", arguments=other)


# -- Arguments ------------------------------------------------------------------------------------------------------


@few
@given(arguments)
def test_every_json_has_a_key_that_survives_being_written_and_read(value):
    assert same(value, json.loads(json.dumps(value)))
    assert same(value, json.loads(json.dumps(value, ensure_ascii=False, indent=1)))


@few
@given(arguments, st.randoms())
def test_the_order_of_names_does_not_count(value, random):
    items = list(value.items())
    random.shuffle(items)
    assert same(value, dict(items))


@few
@given(arguments, arguments)
def test_different_json_is_different(one, other):
    def plain(value):
        """Numbers as what they are worth, truth values apart from 1 and 0."""
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return (type(value) is bool, value)

    assert same(one, other) == (plain(one) == plain(other))


@few
@given(st.integers(), st.integers(-3, 3))
def test_whole_numbers_differ_by_every_digit_however_large(number, step):
    assert same({"n": number}, {"n": number + step}) == (step == 0)


@pytest.mark.parametrize("wrong", [float("nan"), float("-inf"), "\udc00", {"\udc00": 1}, {1: 2}, object(), {"a": {2}}])
def test_what_is_no_json_has_no_key(wrong):
    with pytest.raises(NotCanonicalError):
        fingerprint(tool="t", arguments={"a": wrong})


def test_each_part_of_a_call_counts():
    call: dict[str, Any] = {"owner": "1", "conversation": "c", "tool": "t", "arguments": {"a": 1}}
    others = {"owner": "2", "conversation": "d", "tool": "u", "arguments": {"a": 2}, "executed": True}
    keys = {group_key(**call), *(group_key(**{**call, name: other}) for name, other in others.items())}
    assert len(keys) == 6
    assert all(len(key) == 64 for key in keys)


def test_parts_that_run_together_are_told_apart():
    keys = [explicit_key(owner=owner, agent=agent, key=key) for owner, agent, key in (("1", "2", "3"), ("12", "", "3"))]
    keys.append(group_key(owner="explicit", conversation="1", tool="2", arguments={}))
    assert len(set(keys)) == 3


# -- Declarations ---------------------------------------------------------------------------------------------------


@few
@given(declared)
def test_a_declared_object_survives_being_kept(effect):
    assert Declared.from_json(json.loads(json.dumps(effect.as_json()))) == effect


@few
@given(declarations, st.randoms())
def test_the_order_of_members_behind_the_principal_does_not_count(effects, random):
    rest = effects[1:]
    random.shuffle(rest)
    assert declaration_digest([*effects[:1], *rest]) == declaration_digest(effects)


@few
@given(declarations, declarations)
def test_a_difference_is_empty_exactly_where_two_declarations_are_the_same(first, second):
    found = difference(first, second)
    assert (not any(found.values())) == (declaration_digest(first) == declaration_digest(second))


@few
@given(declarations, declarations)
def test_a_difference_loses_and_invents_no_member(first, second):
    found = difference(first, second)
    changed = len(found["changed"])
    assert len(first) - len(second) == len(found["only_first"]) - len(found["only_second"])
    assert len(found["only_first"]) + changed <= len(first)
    for pair in found["changed"]:
        one, other = pair["first"], pair["second"]
        assert (one["type"], one["id"]) == (other["type"], other["id"])
        assert one != other


@few
@given(declarations.filter(bool), declared)
def test_one_member_more_is_named_alone(effects, more):
    found = difference(effects, [*effects, more])
    assert (found["only_first"], found["changed"], found["only_second"]) == ([], [], [more.as_json()])


@few
@given(declarations.filter(lambda effects: len(effects) > 1))
def test_another_principal_is_named_where_nothing_else_differs(effects):
    first, second, *rest = effects
    assume(first.identity() != second.identity())
    assert difference(effects, [second, first, *rest])["principal"] == second.as_json()


def test_the_title_tells_apart_only_what_has_no_id():
    named, nameless = Declared("contact", "1", Operation.CREATE, "a"), Declared("e-mail", "", Operation.CREATE, "a")
    for effect, counts in ((named, False), (nameless, True)):
        other = replace(effect, title="b")
        assert (declaration_digest([effect]) != declaration_digest([other])) is counts


def test_two_equal_members_are_two():
    one = Declared("e-mail", "", Operation.CREATE, "a")
    assert declaration_digest([one, one]) != declaration_digest([one])
    assert difference([one], [one, one])["only_second"] == [one.as_json()]
