"""Does a change or a deletion that ran here come back field by field, and never over what someone did since?"""

import pytest

from sideeffects.models import Above, Effect
from sideeffects.services.execute import ToolFailedError
from sideeffects.targets.registry import adapter_for
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.factories import NOW, later, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


@pytest.fixture
def by():
    return planner()


def note(by, title="Plan", body="First draft"):
    factories.run(by, "note.create", {"title": title, "body": body})
    return Note.objects.latest("pk")


def update(by, row, *, now=None, **changes):
    return factories.run(by, "note.update", {"note": str(row.pk), **changes}, now=now or later(minutes=1)).group


def test_what_a_tool_changes_or_deletes_keeps_its_versions_before_and_after(by):
    row = note(by)
    update(by, row, title="Better plan")
    factories.run(by, "note.delete", {"notes": [str(row.pk)]}, now=later(minutes=2))
    created, changed, deleted = Effect.objects.order_by("pk")
    assert created.version_before == ""
    assert changed.version_before == created.version_after
    assert deleted.version_before == changed.version_after
    said = adapter_for("note").contents([changed.version_before, changed.version_after])
    assert said[changed.version_before] == {"title": "Plan", "body": "First draft"}
    assert said[changed.version_after] == {"title": "Better plan", "body": "First draft"}


def test_a_row_that_was_changed_past_its_history_gets_a_version_first(by):
    row = note(by)
    Note.objects.filter(pk=row.pk).update(body="By another program")
    update(by, row, title="Better plan")
    changed = Effect.objects.latest("pk")
    said = adapter_for("note").contents([changed.version_before])
    assert said[changed.version_before] == {"title": "Plan", "body": "By another program"}


def test_a_tool_touches_only_rows_of_its_owner_that_stand(by):
    row = note(by)
    other = planner(owner="bob")
    with pytest.raises(ToolFailedError, match=f"There is no note {row.pk} that this call may change"):
        update(other, row, title="Mine now")
    for key in ("7777", "x", "-1", "9" * 30, "01"):
        with pytest.raises(ToolFailedError, match=f"There is no note {key} "):
            factories.run(by, "note.update", {"note": key, "title": "New"})
    factories.run(by, "note.delete", {"notes": [str(row.pk)]})
    with pytest.raises(ToolFailedError):
        update(by, row, title="New")
    row.refresh_from_db()
    assert row.title == "Plan"


def test_what_is_written_under_anothers_object_says_so(by):
    factories.project(by, tasks=2)
    project = Project.objects.get()
    assert not Above.objects.exists()
    factories.run(by, "task.create", {"project": str(project.pk), "title": "One more"})
    [above] = Above.objects.all()
    assert (above.type, above.object_id) == ("project", str(project.pk))
    assert above.effect.object_id == str(Task.objects.latest("pk").pk)
    assert NOW
