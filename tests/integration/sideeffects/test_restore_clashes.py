"""Is what stands in the way of a restore found before the click, named, and nothing half restored?"""

import json
from collections.abc import Callable

import pytest
from django.urls import reverse

from audit.models import Record
from sideeffects.models import Effect
from sideeffects.services import clashes
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.targets import local, returning
from sideeffects.workspace.models import Project, Task
from tests import factories
from tests.factories import NOW, later, person, planner
from tests.integration.pages.conftest import Reader

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def revoked(tool="project.create", **arguments):
    defaults = {"name": "Q3 launch", "code": "Q3", "tasks": ["One", "Two"]} if tool == "project.create" else {}
    group = factories.run(planner(), tool, {**defaults, **arguments}).group
    assert group is not None
    [result] = revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    result.unwrap()
    return group


def back(group):
    [result] = restore(groups=[group.pk], by=person("alice"), now=later(minutes=1), reason="")
    return result


def _taken() -> tuple[str, Callable[[], object]]:
    other = factories.run(planner(), "project.create", {"name": "Newer", "code": "Q3"}, conversation="c2").group
    key = Effect.objects.get(group=other, position=0).object_id
    mine = Project.objects.get(name="Q3 launch")
    why = f"project {mine.pk} cannot come back: its code Q3 is taken by project {key}"
    return why, lambda: Project.objects.filter(pk=key).update(code="Q4")


def _edited() -> tuple[str, Callable[[], object]]:
    row = Project.objects.get(name="Q3 launch")
    Project.objects.filter(pk=row.pk).update(name="By hand", code="")
    why = f"project {row.pk} was edited in the trash (name, code)"
    return why, lambda: Project.objects.filter(pk=row.pk).update(name=row.name, code=row.code)


def _by_hand() -> tuple[str, Callable[[], object]]:
    row = Task.objects.get(title="Two")
    stamp = {"deleted_at": row.deleted_at, "deleted_by": row.deleted_by}
    Task.objects.filter(pk=row.pk).update(deleted_at=None, deleted_by="")
    return f"task {row.pk} is not in the trash any more", lambda: Task.objects.filter(pk=row.pk).update(**stamp)


def _anothers() -> tuple[str, Callable[[], object]]:
    row = Project.objects.get(name="Q3 launch")
    Project.objects.filter(pk=row.pk).update(owner=factories.user("bob"))
    why = f"project {row.pk} belongs to someone else by now"
    return why, lambda: Project.objects.filter(pk=row.pk).update(owner=row.owner)


def rows():
    return [*Project.objects.order_by("pk").values(), *Task.objects.order_by("pk").values()]


@pytest.mark.parametrize("clash", [_taken, _edited, _by_hand, _anothers])
def test_it_is_named_on_the_page_before_and_in_the_answer_after_and_nothing_is_half_restored(clash):
    group = revoked()
    why, undo = clash()
    before, alice, address = rows(), Reader("alice"), reverse("group-restore", args=[group.pk])
    text = alice.read(address)
    assert f"Something stands in the way {why}" in text
    assert "Restore 3 objects" not in text
    answer = alice.client.post(f"/api/v1/groups/{group.pk}/restore", {}, content_type="application/json")
    body = answer.json()
    assert (answer.status_code, body["type"]) == (409, "/help#restore-clash")
    [named] = body["clashes"]
    assert f"{named['type']} {named['id']} {named['why']}" == why
    assert named["edited"] == (clash is _edited)
    assert why in alice.send(address, status=409)
    assert rows() == before
    refused = [json.loads(record.body)["data"]["refusal"] for record in Record.objects.filter(action="restore_refused")]
    assert refused == ["restore-clash", "restore-clash"]
    undo()
    assert "Something stands in the way" not in alice.read(address)
    back(group).unwrap()
    project, *tasks = [int(key) for key in group.effects.order_by("position").values_list("object_id", flat=True)]
    assert Project.objects.filter(pk=project, deleted_at=None).exists()
    assert Task.objects.filter(pk__in=tasks, deleted_at=None).count() == len(tasks) == 2


def test_a_task_does_not_come_back_without_its_project():
    made = factories.project(planner(), tasks=0)
    project = Project.objects.get()
    group = revoked("task.create", project=str(project.pk), title="Book the room")
    task = Task.objects.get()
    revoke(groups=[made.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    refusal = back(group).refusal
    assert isinstance(refusal, clashes.RestoreClashError)
    assert refusal.clashes[0]["id"] == str(task.pk)
    assert f"belongs to project {project.pk}, which is in the trash: restore that first" in str(refusal)
    back(made).unwrap()
    back(group).unwrap()


def test_a_child_deleted_by_hand_before_stays_deleted_and_is_no_clash():
    group = factories.project(planner(), tasks=2)
    Task.objects.filter(title="Task 2").update(deleted_at=NOW, deleted_by="user:alice")
    revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    back(group).unwrap()
    assert set(Task.objects.filter(deleted_at=None).values_list("title", flat=True)) == {"Task 1"}


def test_what_comes_up_after_the_look_is_answered_alike(monkeypatch):
    group, look, looks = revoked(), returning.clashes, []
    why, _ = _taken()

    def blind_at_first(*args, **options):
        looks.append(options)
        return look(*args, **options) if len(looks) > 1 else []

    monkeypatch.setattr(returning, "clashes", blind_at_first)
    refusal = back(group).refusal
    assert isinstance(refusal, clashes.RestoreClashError)
    assert why in str(refusal)
    assert len(looks) == 2
    assert Project.objects.filter(deleted_at=None).count() == 1
    monkeypatch.setattr(returning, "clashes", lambda *_, **__: [])
    assert isinstance(back(group).refusal, local.MembersFailedError)


def test_the_tool_refuses_a_code_that_a_living_project_has_and_takes_one_that_lies_in_the_trash():
    by = planner()
    first = factories.run(by, "project.create", {"name": "A", "code": "Q3"}).group
    assert first is not None
    key = Effect.objects.get(group=first).object_id
    with pytest.raises(Exception, match=rf"The code Q3 is taken by project {key}\."):
        factories.run(by, "project.create", {"name": "B", "code": "Q3"}, conversation="c2")
    assert Project.objects.count() == 1
    factories.run(planner("bob"), "project.create", {"name": "B", "code": "Q3"})
    revoke(groups=[first.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    factories.run(by, "project.create", {"name": "B", "code": "Q3"}, conversation="c2")
    assert Project.objects.filter(code="Q3", deleted_at=None).count() == 2


def test_the_look_costs_the_same_for_many_rows(django_assert_max_num_queries):
    group = revoked(tasks=[f"T {number}" for number in range(60)])
    _taken()
    with django_assert_max_num_queries(8):
        assert len(clashes.before(group)) == 1
