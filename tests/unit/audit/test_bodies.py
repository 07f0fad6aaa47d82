"""Which bytes does an entry become?"""

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as some

from audit import chain
from audit.bodies import EntryTooLongError, bodies_of
from audit.chain import BadBodyError
from audit.events import UnknownEventError, WrongFieldsError
from tests.entries import ALICE, PLANNER, granted, revoked
from tests.factories import NOW

TEXT = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"))
KEY = some.text(some.characters(max_codepoint=127, exclude_characters="\0"))
PLAIN = some.none() | some.booleans() | some.integers(-(2**53) + 1, 2**53 - 1) | TEXT
VALUE = some.recursive(PLAIN, lambda inner: some.lists(inner) | some.dictionaries(KEY, inner), max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(KEY, VALUE, max_size=4))
def test_canonical_bytes_are_those_of_rfc_8785(body):
    assert chain.canonical(body) == rfc8785.dumps(body)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"data": {"titles": ["a", "b\0"]}}, "data.titles[1]"),
        ({"data": {"title": "\ud800"}}, "data.title"),
        ({"amount": 1.0}, "amount"),
        ({"amount": float("nan")}, "amount"),
        ({"count": 2**53}, "count"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "at"),
        ({"data": {"ü": 1}}, "data"),
        ({"data": {1: 1}}, "data"),
        ({"raw": b"x"}, "raw"),
    ],
)
def test_what_has_no_one_form_is_refused_by_its_path(value, path):
    with pytest.raises(BadBodyError) as refused:
        chain.canonical(value)
    assert refused.value.path == path


def test_a_time_is_written_in_utc_with_microseconds_whatever_its_zone():
    berlin = timezone(timedelta(hours=1))
    assert chain.time_text(datetime(2026, 11, 30, 15, 2, tzinfo=berlin)) == "2026-11-30T14:02:00.000000Z"
    assert chain.time_text(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(BadBodyError):
        bodies_of(granted(), log="main", now=NOW.replace(tzinfo=None))


def test_an_unknown_event_and_wrong_fields_are_refused():
    with pytest.raises(UnknownEventError):
        bodies_of(granted(action="role_invented"), log="main", now=NOW)
    with pytest.raises(WrongFieldsError) as refused:
        bodies_of(granted(data={"rolle": "admin"}), log="main", now=NOW)
    assert refused.value.missing == {"role"}
    assert refused.value.unknown == {"rolle"}


def test_actor_and_owner_stand_apart_and_are_who_the_entry_names():
    [body] = bodies_of(revoked(actor=PLANNER, owner=ALICE), log="main", now=NOW)
    said = json.loads(body.text)
    assert said["actor"] == {"type": "agent", "id": "7", "name": "planner"}
    assert said["owner"] == {"type": "user", "id": "1", "name": "alice"}
    assert body.lookups["actor"] == "agent:planner"
    assert body.lookups["owner"] == "user:alice"


def test_a_record_is_found_by_its_target_its_parties_and_every_member_once():
    [body] = bodies_of(revoked(actor=PLANNER, subjects=[("task", "1"), ("task", "1")]), log="main", now=NOW)
    assert body.subjects == [("project", "1"), ("agent", "7"), ("user", "1"), ("task", "1")]


def test_a_long_member_list_is_cut_into_numbered_parts_that_hold_each_member_once():
    parts = bodies_of(revoked(tasks=5_000, title="ü" * 20), log="main", now=NOW)
    said = [json.loads(part.text) for part in parts]
    assert all(len(part.text.encode()) <= chain.BODY_LIMIT for part in parts)
    assert [body["part"] for body in said] == [
        {"number": number, "of": len(parts), "first": said[0]["uid"]} for number in range(1, len(parts) + 1)
    ]
    assert len({body["uid"] for body in said}) == len(parts)
    ids = [member["id"] for body in said for member in body["data"]["members"]]
    assert ids == [f"1{task:03}" for task in range(5_000)]
    for part, body in zip(parts, said, strict=True):
        assert [("task", member["id"]) for member in body["data"]["members"]] == part.subjects[2:-1]
        assert part.subjects[-1] == ("record", said[0]["uid"])
        assert body["outcome"] == "revoked"


def test_what_is_no_list_cannot_be_cut_and_is_refused():
    with pytest.raises(EntryTooLongError):
        bodies_of(granted(data={"role": "x" * 70_000}), log="main", now=NOW)
    with pytest.raises(EntryTooLongError) as refused:
        bodies_of(granted(target=("user", "1" * 256)), log="main", now=NOW)
    assert refused.value.what == "target_id"
    with pytest.raises(EntryTooLongError):
        bodies_of(revoked(subjects=[("t" * 61, "1")]), log="main", now=NOW)


def test_a_body_of_just_the_limit_is_one_record():
    [small] = bodies_of(granted(data={"role": ""}), log="main", now=NOW)
    room = chain.BODY_LIMIT - len(small.text)
    assert len(bodies_of(granted(data={"role": "x" * room}), log="main", now=NOW)) == 1
    with pytest.raises(EntryTooLongError):
        bodies_of(granted(data={"role": "x" * (room + 1)}), log="main", now=NOW)


def test_uids_ascend_so_that_they_can_be_cursors():
    made = [bodies_of(granted(), log="main", now=NOW)[0].lookups["uid"] for _ in range(100)]
    assert all(before < after for before, after in pairwise(made))
