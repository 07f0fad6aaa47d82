"""What can be searched for, and what is refused?"""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from audit.filters import BadFilterError, Cursor, Wanted, parties, read


@pytest.mark.parametrize(
    ("query", "members"),
    [
        ({"id": "1"}, ["type"]),
        ({"type": "project"}, ["id"]),
        ({"colour": "red", "action": "made_up"}, ["action", "colour"]),
        ({"since": "2026-11-30T14:00:00"}, ["since"]),
        ({"since": "2026-11-30", "until": "soon"}, ["since", "until"]),
        ({"since": "9999-12-31T23:59:59-23:59", "until": "0001-01-01T00:00:00+23:59"}, ["since", "until"]),
        ({"cursor": "x"}, ["cursor"]),
        ({"cursor": "9" * 40 + ".."}, ["cursor"]),
        ({"actor": "x" * 400}, ["actor"]),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused_by_its_name(query, members):
    with pytest.raises(BadFilterError) as refused:
        read(query)
    assert [error["member"] for error in refused.value.errors] == members
    assert all(name in str(refused.value) for name in members)


def test_empty_filters_do_not_narrow():
    assert read({"type": "", "id": " ", "since": ""}) == (Wanted(), Cursor())


def test_a_time_without_its_zone_is_read_in_the_zone_of_the_page():
    zone = timezone(timedelta(hours=1))
    wanted, _ = read({"since": "2026-11-30T14:00"}, zone=zone)
    assert wanted.since == datetime(2026, 11, 30, 13, tzinfo=UTC)


def test_a_time_that_its_zone_moves_out_of_the_calendar_is_refused():
    with pytest.raises(BadFilterError, match="since"):
        read({"since": "0001-01-01T00:00"}, zone=timezone(timedelta(hours=1)))


@pytest.mark.parametrize("cursor", [Cursor(), Cursor(5), Cursor(None, 7, 0), Cursor(3, 7, 9)])
def test_a_cursor_survives_being_written(cursor):
    assert read({"cursor": str(cursor)})[1] == cursor


def test_a_party_is_meant_by_its_name_or_with_its_type():
    assert parties("alice") == ["user:alice", "agent:alice", "system:alice"]
    assert parties("agent:planner") == ["agent:planner"]
