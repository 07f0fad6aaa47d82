"""Does an adapter keep what the door asks of it? One suite for the workspace and for whoever joins."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sideeffects.targets.base import Content
from sideeffects.targets.registry import ADAPTERS
from tests.factories import later, user
from tests.samples import Sample, samples

pytestmark = [pytest.mark.django_db, pytest.mark.both]
WHO = "user:alice"
NO_IDS = [
    "",
    "0",
    "x",
    "-1",
    "01",
    " 1",
    "1 ",
    "1e3",
    "\u0661",
    "9" * 40,
    "a" * 300,
    "\u00e9",
    "1" * 8 + "-" + "z" * 27,
]


@pytest.fixture(params=samples(), ids=lambda sample: sample.type)
def sample(request: Any) -> Sample:
    found: Sample = request.param
    return found


@pytest.fixture
def rows(sample: Sample) -> list[Any]:
    return [sample.make(user("alice"), f"Row {number}") for number in range(3)]


def ids(rows: list[Any]) -> list[str]:
    return [str(row.pk) for row in rows]


def now_there(sample: Sample, rows: list[Any]) -> dict[str, tuple[bool, Content]]:
    found = sample.adapter.find(ids(rows))
    return {key: (sample.adapter.is_deleted(row), sample.adapter.content(row)) for key, row in found.items()}


def statements(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as queries:
        act()
    return len(queries)


def version(sample: Sample, row: Any) -> str:
    key = str(row.pk)
    return sample.adapter.versions(list(sample.adapter.lock([key]).values()), now=later())[key]


def test_it_finds_and_locks_a_list_by_id_and_leaves_out_what_is_not_there(sample, rows):
    sample.adapter.remove(rows[:1], by=WHO, now=later())
    sample.erase(rows[2])
    for look in (sample.adapter.find, sample.adapter.lock):
        found = look([*NO_IDS, *ids(rows)])
        assert set(found) == set(ids(rows[:2]))
        assert [str(row.pk) for row in found.values()] == list(found)
        assert [sample.adapter.is_deleted(found[key]) for key in ids(rows[:2])] == [True, False]
        assert look([]) == look(NO_IDS) == {}
    held = [row.pk for row in sample.adapter.lock(ids(rows)[::-1]).values()]
    assert held == sorted(held)  # two that lock the same rows wait for each other


def test_it_knows_whose_a_row_is(sample, rows):
    [row] = sample.adapter.find(ids(rows[:1])).values()
    assert sample.adapter.belongs_to(row, user("alice"))
    assert not sample.adapter.belongs_to(row, user("bob"))
    sample.give(row, user("bob"))
    [row] = sample.adapter.find(ids(rows[:1])).values()
    assert not sample.adapter.belongs_to(row, user("alice"))


def test_what_a_row_says_is_text_that_tells_edits_and_nothing_else(sample, rows):
    row = rows[0]
    before = now_there(sample, [row])[str(row.pk)]
    assert before[1][sample.text] == "Row 0"
    assert all(value is None or isinstance(value, str) for value in before[1].values())
    assert statements(lambda: [sample.adapter.content(row), sample.adapter.parents([row])]) == 0
    sample.adapter.remove([row], by=WHO, now=later())
    assert now_there(sample, [row])[str(row.pk)] == (True, before[1])
    sample.edit(row, "Edited")
    assert now_there(sample, [row])[str(row.pk)] == (True, {**before[1], sample.text: "Edited"})
    assert all(sample.adapter.label(name) for name in before[1])


def test_a_version_stays_while_the_row_does_and_is_kept_first_where_no_one_kept_it(sample, rows):
    row = rows[0]
    first = version(sample, row)
    assert version(sample, row) == first
    sample.write(row, "Written")
    second = version(sample, row)
    sample.edit(row, "Edited")
    third = version(sample, row)
    assert len({first, second, third}) == 3
    assert version(sample, row) == third
    said = sample.adapter.contents([first, second, third, ""])
    assert {key: content[sample.text] for key, content in said.items()} == {
        first: "Row 0",
        second: "Written",
        third: "Edited",
    }


def test_remove_and_restore_say_what_they_changed_and_keep_the_rows_as_they_were(sample, rows):
    before = now_there(sample, rows)
    versions = sample.adapter.versions(rows, now=later())
    assert sample.adapter.remove(rows[:2], by=WHO, now=later()) == set(ids(rows[:2]))
    assert [gone for gone, _ in now_there(sample, rows).values()].count(True) == 2
    removed = list(sample.adapter.lock(ids(rows[:2])).values())
    assert sample.adapter.restore(removed, by=WHO, now=later()) == set(ids(rows[:2]))
    assert now_there(sample, rows) == before
    assert sample.adapter.contents(list(versions.values())).keys() == set(versions.values())
    sample.erase(rows[2])
    assert sample.adapter.remove(rows[1:], by=WHO, now=later()) == {str(rows[1].pk)}


def test_revert_sets_the_named_fields_back_and_nothing_else(sample, rows):
    versions = sample.adapter.versions(rows, now=later())
    before = now_there(sample, rows)
    for row in rows:
        sample.write(row, "Written")
    held = list(sample.adapter.lock(ids(rows)).values())
    fields = {key: ({sample.text} if key != str(rows[1].pk) else set()) for key in versions}
    sample.adapter.revert(held, to=versions, fields=fields, by=WHO, now=later())
    said = {key: content[sample.text] for key, (_, content) in now_there(sample, rows).items()}
    assert said == {key: ("Written" if key == str(rows[1].pk) else before[key][1][sample.text]) for key in before}
    newest = {str(row.pk): version(sample, row) for row in rows}
    kept = sample.adapter.contents(list(newest.values()))
    assert {key: kept[newest[key]][sample.text] for key in newest} == said
    sample.erase(held[2])
    done = sample.adapter.revert(
        held[:1], to=versions, fields={key: {sample.text} for key in versions}, by=WHO, now=later()
    )
    assert done == {str(held[0].pk)}


def test_purge_deletes_for_good_with_every_version(sample, rows):
    versions = sample.adapter.versions(rows, now=later())
    sample.adapter.remove(rows[:2], by=WHO, now=later())
    held = list(sample.adapter.lock(ids(rows[:2])).values())
    assert sample.adapter.purge(held, by=WHO, now=later()) == set(ids(rows[:2]))
    assert set(now_there(sample, rows)) == {str(rows[2].pk)}
    assert set(sample.adapter.contents(list(versions.values()))) == {versions[str(rows[2].pk)]}


def test_a_longer_list_takes_no_more_statements(sample):
    adapter, many = sample.adapter, [sample.make(user("alice"), f"Row {number}") for number in range(9)]

    def everything(keys: list[str]) -> None:
        rows = list(adapter.lock(keys).values())
        versions = adapter.versions(rows, now=later())
        adapter.contents(list(versions.values()))
        adapter.parents(rows)
        adapter.clashes(rows)
        adapter.remove(rows, by=WHO, now=later())
        adapter.restore(rows, by=WHO, now=later())
        adapter.revert(rows, to=versions, fields={key: {sample.text} for key in keys}, by=WHO, now=later())
        adapter.remove(rows, by=WHO, now=later())
        adapter.purge(rows, by=WHO, now=later())

    few = statements(lambda: everything(ids(many[:2])))
    assert statements(lambda: everything(ids(many[2:]))) == few


def test_what_a_row_hangs_under_is_an_object_that_can_be_found(sample, rows):
    above = sample.adapter.parents(rows)
    assert above.keys() <= set(ids(rows))
    for named in above.values():
        for type_, key in named:
            assert list(ADAPTERS[type_].find([key])) == [key]
