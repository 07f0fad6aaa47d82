"""Do trash and workspace show what lies where, one's own only, at the same cost with more rows?"""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from sideeffects.models import Revocation
from sideeffects.services import purge
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.trash import NAMED
from sideeffects.workspace.contents import MOST_TASKS
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.external import WORKER
from tests.factories import NOW, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def revoked(reader, by, **call):
    group = factories.project(by, **call)
    reader("alice").send(reverse("group-revoke", args=[group.pk]), reason="Not wanted")
    return group


def test_the_trash_says_what_lies_there_until_when_and_whose_doing_it_was(reader):
    group = revoked(reader, planner(), tasks=NAMED + 3)
    text = reader("alice").read("/trash/")
    assert f"{NAMED + 4} objects, from 1 revoke." in text
    assert f"{NAMED + 4} objects in the trash until" in text
    assert "and 4 more" in text
    assert "Revoked by you" in text
    assert "reason: Not wanted" in text
    assert reverse("group-restore", args=[group.pk]) in reader("alice").open("/trash/")
    for other in ("bob", "admin"):
        assert "The trash is empty." in reader(other).read("/trash/")
    assert "not one of ours" in reader("alice").read("/trash/?before=x", status=400)


def test_what_has_vanished_is_not_counted_among_what_can_come_back(reader):
    group = revoked(reader, planner(), tasks=1)
    Task.objects.all().delete()
    alice, back = reader("alice"), reverse("group-restore", args=[group.pk])
    question = alice.read(back)
    assert "1 would come back" in question
    assert "1 cannot come back as it stands" in question
    assert "is not there any more" in question
    assert "until whoever owns this data puts it right in its own application" in question
    text = alice.read("/trash/")
    assert "1 object is not there any more and cannot come back" in text
    assert "1 object in the trash until" in text
    Project.objects.all().delete()
    question, text = alice.read(back), alice.read("/trash/")
    assert "2 cannot come back as it stands" in question
    assert "2 objects are not there any more" in text
    for said in (question, text.split("What can be restored")[1]):
        assert "would come back" not in said
        assert "trash until" not in said


def test_the_trash_says_when_things_go_for_good_and_what_holds_them(reader):
    group = revoked(reader, planner(), tasks=1)
    alice, row = reader("alice"), Revocation.objects.get()

    def fate():
        [entry] = alice.client.get("/api/v1/trash").json()["results"]
        assert entry["fate"] in alice.read("/trash/")
        return re.sub(r"\d+ \w{3} \d{4}", "DATE", entry["fate"])

    assert fate() == "Goes for good on DATE; that is announced before"
    assert purge.announce(by=WORKER, now=row.asked_at + timedelta(days=28)) == 1
    assert fate() == "Goes for good on DATE"
    task = Task.objects.create(owner=group.owner, created_at=NOW, project=Project.objects.get(), title="by hand")
    assert purge.purge(by=WORKER, now=row.asked_at + timedelta(days=30)) == 0
    assert (
        fate() == f"Could not be purged, so it stays: project {task.project_id} is still pointed to by task {task.pk}"
    )
    assert "Could not be purged, so it stays" in alice.read(reverse("group", args=[group.pk]))
    task.delete()
    assert purge.purge(by=WORKER, now=row.asked_at + timedelta(days=31)) == 1
    assert "The trash is empty." in alice.read("/trash/")
    text = alice.read(reverse("group", args=[group.pk]))
    assert "Revoked, and purged from the trash" in text
    assert "Outcome: not complete" in text
    assert "Not complete, since: 2 revoked, then purged from the trash." in text
    assert "Restore" not in text
    assert "Purged: gone for good" in alice.send(reverse("group-restore", args=[group.pk]), status=409)


def test_the_workspace_names_its_rows_by_id(reader):
    factories.project(planner(), tasks=1)
    project = Project.objects.get()
    text = reader("alice").read("/workspace/")
    assert f"Q3 launch project {project.pk}" in text
    assert f"Task 1 task {project.tasks.get().pk}" in text
    assert "No projects." in reader("bob").read("/workspace/")
    reader("alice").read("/workspace/?projects=x", status=400)


def test_tasks_of_a_deleted_project_are_not_hidden(reader):
    factories.project(planner(), tasks=1)
    Project.objects.update(deleted_at=NOW, deleted_by="user:alice")
    text = reader("alice").read("/workspace/")
    assert "is deleted; these tasks of it are not" in text
    assert "Task 1" in text


def test_a_project_of_many_tasks_names_some_and_counts_all(reader):
    factories.project(planner(), tasks=MOST_TASKS + 2)
    assert f"{MOST_TASKS} of {MOST_TASKS + 2} tasks shown." in reader("alice").read("/workspace/")


def take_back(groups):
    revoke(groups=[group.pk for group in groups], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)


def test_the_trash_costs_the_same_with_one_row_and_with_thirty(reader):
    by, alice = planner(), reader("alice")
    take_back([factories.project(by, tasks=1)])
    alice.queries("/trash/")
    once = alice.queries("/trash/")
    take_back([factories.project(by, tasks=2, name=f"gone {number}") for number in range(30)])
    assert alice.queries("/trash/") == once


def test_the_workspace_costs_the_same_with_one_row_and_with_thirty(reader):
    by, alice = planner(), reader("alice")
    factories.project(by, tasks=1)
    alice.queries("/workspace/")
    once = alice.queries("/workspace/")
    for number in range(30):
        factories.project(by, tasks=2, name=f"stays {number}")
    assert alice.queries("/workspace/") == once


def test_what_was_only_put_back_lies_in_no_trash_and_is_never_purged(reader):
    by = planner()
    factories.run(by, "note.create", {"title": "Kept"})
    note = Note.objects.get()
    group = factories.run(by, "note.update", {"note": str(note.pk), "title": "Changed"}).group
    assert group is not None
    take_back([group])
    alice = reader("alice")
    text = alice.read("/trash/")
    assert "1 object can be restored" in text
    assert "Nothing of it lies in the trash, so nothing is purged" in text
    assert "Revoked: put back to the version before" in text
    [entry] = alice.client.get("/api/v1/trash").json()["results"]
    assert (entry["number"], entry["in_trash_until"]) == (1, None)
    [effect] = alice.client.get(f"/api/v1/effects?group={group.pk}").json()["results"]
    assert (effect["state"], effect["in_trash_until"]) == ("revoked", None)
    assert purge.announce(by=WORKER, now=NOW + timedelta(days=40)) == 0
    assert purge.purge(by=WORKER, now=NOW + timedelta(days=50)) == 0
    assert Note.objects.get().title == "Kept"
