"""Is one shown what has happened since before anything is taken back over it, and are changes told field by field?"""

import re

import pytest
from django.urls import reverse

from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.factories import later, planner

pytestmark = pytest.mark.django_db


def run(by, tool, arguments):
    group = factories.run(by, tool, arguments, now=later(minutes=1)).group
    assert group is not None
    return group


@pytest.fixture
def by():
    return planner()


@pytest.fixture
def changed(by):
    """A note that an agent changed."""
    run(by, "note.create", {"title": "Plan", "body": "First draft"})
    return run(by, "note.update", {"note": str(Note.objects.get().pk), "title": "Better plan"})


def test_a_change_is_shown_field_by_field_and_its_words_are_its_own(reader, changed):
    alice, page, ask = reader("alice"), reverse("group", args=[changed.pk]), reverse("group-revoke", args=[changed.pk])
    assert "title before: Plan after: Better plan" in alice.read(page)
    assert "Put back here, restorable" in alice.read(page)
    assert "1 will be put back to the version before" in alice.read(ask)
    said = alice.send(ask)
    assert said.count("Revoked: put back to the version before") == 2
    assert "In trash until" not in said
    assert Note.objects.get().title == "Plan"
    assert "Change it again…" in said
    trash = alice.read("/trash/")
    assert "Change it again…" in trash
    assert "in the trash until" not in trash
    back = reverse("group-restore", args=[changed.pk])
    assert "1 is changed again" in alice.read(back)
    assert "Changed again: restored" in alice.send(back)


def test_what_was_deleted_is_undeleted_in_so_many_words(reader, by):
    run(by, "note.create", {"title": "Plan"})
    group = run(by, "note.delete", {"notes": [str(Note.objects.get().pk)]})
    alice, ask = reader("alice"), reverse("group-revoke", args=[group.pk])
    assert "1 will be undeleted" in alice.read(ask)
    assert alice.send(ask).count("Revoked: undeleted") == 2
    back = reverse("group-restore", args=[group.pk])
    assert "1 is deleted again" in alice.read(back)
    assert "Deleted again: restored" in alice.send(back)


def test_a_later_change_is_shown_and_passed_over_only_by_who_has_seen_it(reader, changed):
    alice, ask = reader("alice"), reverse("group-revoke", args=[changed.pk])
    note = Note.objects.get()
    note.title = "By alice"
    note.save()
    question = alice.open(ask)
    assert "Changed since the agent" in question
    seen = re.search(r'name="seen" value="(\w+)"', question)
    assert seen is not None
    assert re.search(r"title\s+Better plan\s+By alice\s+Plan", alice.read(ask))
    assert "was changed since the agent" in alice.send(ask, status=409)
    note.title = "By alice, twice"
    note.save()
    again = alice.send(ask, status=409, override="1", seen=seen[1])
    assert "By alice, twice" in again
    assert Note.objects.get().title == "By alice, twice"
    now = re.search(r'name="seen" value="(\w+)"', alice.open(ask))
    assert now is not None
    assert "Revoked: put back to the version before" in alice.send(ask, override="1", seen=now[1])
    assert Note.objects.get().title == "Plan"


def test_later_actions_are_shown_and_one_chooses_what_becomes_of_them(reader, by):
    base = factories.project(by, tasks=1)
    key = str(Project.objects.get().pk)
    run(by, "task.create", {"project": key, "title": "One more"})
    alice, ask = reader("alice"), reverse("group-revoke", args=[base.pk])
    question = alice.read(ask)
    assert "task.create created something under it" in question
    assert "choose what becomes of them" in alice.send(ask, status=422)
    assert Project.objects.get().deleted_at is None
    said = alice.send(ask, later="include")
    assert "A later action was taken back first: task.create." in said
    assert not Task.objects.filter(deleted_at=None).exists()
    alice.send(reverse("group-restore", args=[base.pk]))
    assert "Revoked. In trash until" in alice.send(ask)


def test_what_cannot_go_alone_does_not_offer_it(reader, by):
    run(by, "note.create", {"title": "Plan"})
    created = run(
        by, "note.update", {"note": str(Note.objects.get().pk), "title": "Better"}
    ).owner.groups_owned.earliest("pk")
    run(by, "note.delete", {"notes": [str(Note.objects.get().pk)]})
    alice, ask = reader("alice"), reverse("group-revoke", args=[created.pk])
    question = alice.read(ask)
    assert "this one cannot go alone" in question
    assert "Take back this one only" not in question
    alice.send(ask, status=422, later="leave")
    alice.send(ask, later="include")
    assert Note.objects.get().deleted_at is not None


def test_the_choice_says_how_much_more_goes_and_asks_nothing_about_what_goes_with_it(reader, by):
    run(by, "note.create", {"title": "Plan"})
    key = str(Note.objects.get().pk)
    created = Note.objects.get().owner.groups_owned.earliest("pk")
    run(by, "note.update", {"note": key, "title": "Better"})
    alice, ask = reader("alice"), reverse("group-revoke", args=[created.pk])
    question = alice.read(ask)
    assert "Take these back too, the newest first: 1 more object in 1 later action" in question
    assert "Where they are taken back too, nothing is passed over" in question
    assert "For this one only: take it back over" in question
    assert "Revoke what was chosen" in question
    assert "Revoke 1 object" not in question
    run(by, "note.delete", {"notes": [key]})
    question = alice.read(ask)
    assert "2 more objects in 2 later actions" in question
    assert "Changed since the agent" not in question, "this one cannot go alone, so nothing is passed over"
    assert "take it back over" not in question
    assert "Take back this one only" not in question
    assert "Outcome: revoked" in alice.send(ask, later="include")
    assert Note.objects.get().deleted_at is not None


def test_what_a_person_changed_is_still_asked_about_where_later_actions_go_too(reader, by):
    run(by, "note.create", {"title": "Plan", "body": "First"})
    note = Note.objects.get()
    created = note.owner.groups_owned.earliest("pk")
    note.body = "By alice"
    note.save()
    run(by, "note.update", {"note": str(note.pk), "title": "Better"})
    question = reader("alice").read(reverse("group-revoke", args=[created.pk]))
    assert "Nothing is taken back over it unless you say so below" in question
    assert "nothing is passed over" not in question
