"""Is a record found by whatever it speaks of, in a stable order, at the same cost however long the log?"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import log, queries
from audit.filters import Cursor, Wanted
from audit.models import Record, Unsealed
from tests.entries import ALICE, PLANNER, granted, revoked, sealed, write
from tests.factories import NOW, later

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def found(wanted, **paging):
    return [item.record.target_id for item in queries.search(wanted, Cursor(), **paging).found]


def pages(wanted=None, *, size, between=None):
    """Walk through all pages; `between` happens after each."""
    cursor, seen = Cursor(), []
    for _ in range(100):
        page = queries.search(wanted or Wanted(), cursor, size=size)
        assert len(page.found) <= size
        seen.append([item.record.target_id for item in page.found])
        if page.older is None:
            return seen
        cursor = page.older
        if between:
            between()
    raise AssertionError("the pages never end")


def flat(lists):
    return [item for inner in lists for item in inner]


@pytest.fixture
def mixed():
    """Six sealed records of several kinds, and one unsealed."""
    write(
        revoked(1, actor=ALICE, owner=ALICE),
        revoked(2, actor=PLANNER, owner=ALICE, outcome="refused"),
        granted(3),
        granted(4),
        now=NOW,
    )
    write(granted(5), now=later(minutes=5))
    write(revoked(6, actor=PLANNER, owner=None, group="special"), now=later(minutes=10))
    log.seal()
    write(granted(7), now=later(minutes=15))


@pytest.mark.parametrize("rare", [0, 2_000])
@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(), "7654321"),
        (Wanted(type="project", id="2"), "2"),
        (Wanted(type="task", id="2001"), "2"),
        (Wanted(type="agent", id="7"), "62"),
        (Wanted(type="user", id="1"), "21"),
        (Wanted(type="user", id="none"), ""),
        (Wanted(actor="agent:planner"), "62"),
        (Wanted(actor="planner"), "62"),
        (Wanted(owner="alice"), "21"),
        (Wanted(owner="alice", actor="planner"), "2"),
        (Wanted(action="role_granted"), "7543"),
        (Wanted(outcome="refused"), "2"),
        (Wanted(group="special"), "6"),
        (Wanted(since=later(minutes=5)), "765"),
        (Wanted(until=later(minutes=5)), "4321"),
        (Wanted(since=later(minutes=5), until=later(minutes=10)), "5"),
        (Wanted(action="role_granted", since=later(minutes=1), actor="user:admin"), "75"),
    ],
)
def test_every_filter_finds_what_it_says(mixed, monkeypatch, rare, wanted, ids):
    monkeypatch.setattr(queries, "RARE", rare)
    assert found(wanted) == list(ids)
    assert flat(pages(wanted, size=2)) == list(ids)
    assert flat(pages(wanted, size=1)) == list(ids)


def test_another_log_is_never_shown(mixed, settings):
    settings.AUDIT_LOG = "demo"
    write(granted(9))
    assert found(Wanted()) == ["9"]
    assert found(Wanted(action="role_granted")) == ["9"]
    log.seal()
    assert found(Wanted(type="user", id="9")) == ["9"]
    assert queries.numbers().size == 1
    settings.AUDIT_LOG = "main"
    assert found(Wanted(type="user", id="9")) == []


def test_what_is_unsealed_comes_first_whatever_its_age(mixed):
    write(granted(8), now=later(days=-1))
    items = queries.search(Wanted(), Cursor()).found
    assert [(item.record.target_id, item.seq) for item in items[:3]] == [("8", None), ("7", None), ("6", 5)]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_what_is_sealed_between_two_pages_is_shown_once(size):
    sealed(4)
    write(*(granted(number) for number in range(10, 16)))
    seen = pages(size=size, between=log.seal)
    assert flat(seen) == ["15", "14", "13", "12", "11", "10", "3", "2", "1", "0"]


def test_what_is_written_meanwhile_does_not_move_the_pages():
    sealed(6)
    numbers = iter(range(100, 200))

    def write_and_seal():
        write(granted(next(numbers)))
        log.seal()

    assert flat(pages(size=2, between=write_and_seal)) == ["5", "4", "3", "2", "1", "0"]


def test_a_record_sealed_late_stands_where_its_place_is(tampering):
    """Ids commit out of order: the order is by place."""
    first, second = write(granted(1), granted(2))
    with tampering():
        first.unsealed.delete()
        log.seal()
        Unsealed.objects.create(record=first)
        log.seal()
    assert found(Wanted()) == ["1", "2"]
    assert second.pk > first.pk


def test_a_search_for_something_frequent_looks_through_so_much_and_says_where_it_stopped(monkeypatch):
    monkeypatch.setattr(queries, "RARE", 1)
    monkeypatch.setattr(queries, "SPAN", 5)
    sealed(3)
    write(*(granted(number) for number in range(20, 32)))
    log.seal()
    page = queries.search(Wanted(action="COMPENSATE"), Cursor())
    assert (page.found, page.searched_to, page.older) == ([], 10, Cursor(10))
    assert flat(pages(Wanted(action="COMPENSATE"), size=2)) == ["2", "1", "0"]
    assert flat(pages(Wanted(action="role_granted"), size=2)) == [str(number) for number in range(31, 19, -1)]


@pytest.mark.parametrize(
    "wanted",
    [Wanted(), Wanted(action="COMPENSATE"), Wanted(type="user", id="1"), Wanted(actor="alice", outcome="revoked")],
)
def test_a_page_costs_as_many_queries_with_many_rows_as_with_few(wanted):
    def cost():
        with CaptureQueriesContext(connection) as seen:
            queries.search(wanted, Cursor())
        return len(seen)

    sealed(2)
    write(revoked(2))
    few = cost()
    write(*(revoked(number) for number in range(3, 120)))
    log.seal()
    write(*(revoked(number) for number in range(120, 140)))
    assert cost() == few
    assert few <= 8


def test_one_record_is_found_with_its_place_and_what_it_is_found_by(mixed):
    row = Record.objects.get(target_id="6")
    item = queries.record(row.uid)
    assert (item.record, item.seq) == (row, 5)
    assert ("task", "6001") in queries.subjects(row)
    assert queries.record(Record.objects.get(target_id="7").uid).seq is None


def test_the_numbers_say_how_much_is_unsealed_and_for_how_long(mixed):
    numbers = queries.numbers()
    assert (numbers.size, numbers.unsealed, numbers.oldest_unsealed_at) == (6, 1, later(minutes=15))
