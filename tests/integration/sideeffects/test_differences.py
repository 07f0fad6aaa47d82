"""What if a repeat declares other effects: of the same action, of equal ones, of one that was revoked?"""

from typing import Any

import pytest

from sideeffects.declarations import Declared
from sideeffects.models import Declaration, Effect, Group, Revocation
from sideeffects.services import compare
from sideeffects.services.land import DeclarationConflictError
from sideeffects.services.record import Status
from sideeffects.transitions import Operation
from tests import factories
from tests.external import bodies
from tests.factories import NOW, contact, later, planner, revoked

pytestmark = [pytest.mark.django_db, pytest.mark.both]

report: Any = factories.report  # its group is there wherever a test looks at it
ELEVEN = [contact(f"c_{number}") for number in range(11)]


# -- Conflicts ---------------------------------------------------------------------------------------------------------


def test_eleven_then_twelve_keeps_the_first_and_stores_the_difference():
    group = report(by := planner(), ELEVEN).group
    second = report(by, [*ELEVEN, contact("c_11")], now=later(minutes=1))
    assert (second.result, second.created) == ("conflict", True)
    with pytest.raises(DeclarationConflictError) as told:
        second.check_agrees()
    assert told.value.group == str(group.pk)
    assert [member["id"] for member in told.value.difference["only_second"]] == ["c_11"]
    assert Effect.objects.count() == 11
    held, conflict = Declaration.objects.order_by("-held")
    assert (len(held.effects), len(conflict.effects)) == (11, 12)
    [body] = bodies("declaration_differed")
    assert [member["id"] for member in body["data"]["only_declared"]] == ["c_11"]
    assert ["contact", "c_11"] in body["subjects"]


def test_repeats_of_a_conflict_fold_into_its_count():
    report(by := planner(), ELEVEN)
    twelve = [*ELEVEN, contact("c_11")]
    first = report(by, twelve, now=later(minutes=1))
    for minute in (3, 2):  # the clocks of two processes need not agree
        again = report(by, twelve, now=later(minutes=minute))
        assert (again.result, again.created, again.conflict) == ("conflict", False, first.conflict)
    row = Declaration.objects.get(held=False)
    assert (row.seen, row.first_seen_at, row.last_seen_at) == (3, later(minutes=1), later(minutes=3))
    assert len(bodies("declaration_differed")) == 1


def test_what_a_person_has_resolved_stays_resolved():
    report(by := planner(), ELEVEN)
    twelve = [*ELEVEN, contact("c_11")]
    report(by, twelve)
    Declaration.objects.filter(held=False).update(resolved_at=NOW, resolved_by="user:alice", resolution="dismiss")
    assert report(by, twelve, now=later(days=1)).result == "replayed"
    assert Declaration.objects.filter(held=False, resolved_at=None).count() == 0


def test_conflicts_are_kept_up_to_a_cap_and_counted_beyond_it(monkeypatch):
    monkeypatch.setattr(compare, "MOST_CONFLICTS", 3)
    report(by := planner(), ELEVEN)
    results = [report(by, [contact(f"x_{number}")]) for number in range(5)]
    assert [result.result for result in results] == ["conflict"] * 5
    assert [result.created for result in results] == [True] * 3 + [False] * 2
    for result, kept in ((results[2], "Both are kept"), (results[3], "This one was counted and not kept")):
        with pytest.raises(DeclarationConflictError, match=kept):
            result.check_agrees()
    assert Declaration.objects.filter(held=False, kept=True).count() == 3
    assert Group.objects.get().declarations_not_kept == 2
    assert Declaration.objects.get(kept=False).seen == 2
    assert len(bodies("declaration_differed")) == 4, "the first that is not kept is on the log, and no other"


def test_one_object_in_another_version_is_a_change_and_not_two_objects():
    def version(text):
        return Declared("contact", "c_1", Operation.UPDATE, version=text)

    report(by := planner(), [version("1")])
    conflict = report(by, [version("2")]).conflict
    assert conflict.difference["only_first"] == conflict.difference["only_second"] == []
    [changed] = conflict.difference["changed"]
    assert (changed["first"]["version"], changed["second"]["version"]) == ("1", "2")


def test_a_call_without_effects_that_declares_some_later_differs():
    report(by := planner(), [])
    assert report(by, []).result == "replayed"
    assert report(by, [contact("c_1")]).result == "conflict"


# -- Equal declarations that ids cannot tell apart ---------------------------------------------------------------------


def email():
    return [Declared("e-mail", "", Operation.CREATE, title="Welcome")]


def test_two_identical_e_mails_count_as_declared_twice():
    by = planner()
    for _ in range(3):
        group = report(by, email(), tool="email.send").group
    group.refresh_from_db()
    assert group.repeats == 2
    assert len(bodies("group_landed")) == 1


def test_without_ids_the_title_tells_two_objects_apart():
    report(by := planner(), email(), tool="email.send")
    other = [Declared("e-mail", "", Operation.CREATE, title="Goodbye")]
    assert report(by, other, tool="email.send").result == "conflict"


def test_with_ids_the_title_does_not_count():
    report(by := planner(), [Declared("contact", "c", Operation.CREATE, title="Ada")])
    assert report(by, [Declared("contact", "c", Operation.CREATE, title="Ada L.")]).result == "replayed"


def test_a_source_that_is_read_again_counts_nothing_twice():
    by = planner()
    for _ in range(2):
        for occurrence in (1, 2, 3):
            report(by, email(), tool="email.send", occurrence=occurrence)
    assert Group.objects.get().repeats == 2
    report(by, ELEVEN)
    for _ in range(2):
        for occurrence in (1, 2):
            report(by, [contact("other")], occurrence=occurrence)
    assert Declaration.objects.get(held=False).seen == 2


# -- Again after a revoke ----------------------------------------------------------------------------------------------


def test_other_effects_after_a_revoke_are_a_new_group_that_says_so():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    again = report(by, [contact("c_99")], now=later(hours=1))
    assert (again.result, again.created) == ("recorded", True)
    assert (again.group.generation, again.group.again_after_revoke) == (1, True)
    assert Effect.objects.filter(group=again.group).get().state == "active"
    assert not Declaration.objects.filter(held=False).exists()
    assert bodies("group_landed")[1]["data"]["generation"] == "1"


def test_each_generation_keeps_its_own_replays():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    second = report(by, [contact("c_99")]).group
    assert report(by, ELEVEN).group == first
    assert report(by, [contact("c_99")]).group == second
    third = report(by, [contact("c_100")])
    assert (third.result, third.group) == ("conflict", second)
    revoked(second, by)
    assert report(by, [contact("c_101")]).group.generation == 2
    assert report(by, ELEVEN).group == first
    assert report(by, [contact("c_100")]).result == "conflict"  # known there already, decided by nobody
    assert Group.objects.count() == 3


def test_a_call_announced_after_a_revoke_is_never_absent():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    opened = report(by, [], status=Status.IN_FLIGHT, now=later(hours=1))
    assert (opened.result, opened.group.generation, opened.group.again_after_revoke) == ("opened", 1, True)
    assert report(by, [contact("c_99")]).group == opened.group


def test_after_a_restore_other_effects_are_a_conflict_again():
    first = report(by := planner(), ELEVEN).group
    row = revoked(first, by)
    Revocation.objects.filter(pk=row.pk).update(restored_at=NOW, restored_by="user:alice")
    assert report(by, [contact("c_99")]).result == "conflict"
