"""What may an agent do in the sample workspace?"""

from typing import Any

from rest_framework import serializers
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from sideeffects.tools import Call, Contract, ToolRefusesError, Written, declare, tool
from sideeffects.transitions import Operation, RevokeClass
from sideeffects.workspace.adapters import NoteAdapter
from sideeffects.workspace.models import Kept, Note, Project, Task

MOST_TASKS = 1000
MOST_ROWS = 1000
LOCAL = Contract(revoke_class=RevokeClass.LOCAL)


class Key(serializers.CharField):
    """The id of a row, as the record of what was written names it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=40, **options)


class ProjectArguments(serializers.Serializer[Any]):
    """A project's name and the titles of its tasks; a code, where it has one, is no other living project's."""

    name = serializers.CharField(max_length=200)
    code = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    tasks = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MOST_TASKS, required=False, default=list
    )


class NoteArguments(serializers.Serializer[Any]):
    """A note's title and text."""

    title = serializers.CharField(max_length=200)
    body = serializers.CharField(max_length=20_000, required=False, default="", allow_blank=True)


class TaskArguments(serializers.Serializer[Any]):
    """A task's title and the project it belongs to."""

    project = Key()
    title = serializers.CharField(max_length=200)


class _Changes(serializers.Serializer[Any]):
    """What to change; what is left out stays."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a change of nothing."""
        if len(attrs) < len(("the row", "a change")):
            raise serializers.ValidationError("Nothing is named that would change.")
        return attrs


class TaskChanges(_Changes):
    """Which task, and what to change of it."""

    task = Key()
    title = serializers.CharField(max_length=200, required=False)
    done = serializers.BooleanField(required=False)


class NoteChanges(_Changes):
    """Which note, and what to change of it."""

    note = Key()
    title = serializers.CharField(max_length=200, required=False)
    body = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class ProjectsArguments(serializers.Serializer[Any]):
    """Which projects, the first named is the principal."""

    projects = serializers.ListField(child=Key(), min_length=1, max_length=MOST_ROWS)


class NotesArguments(serializers.Serializer[Any]):
    """Which notes, the first named is the principal."""

    notes = serializers.ListField(child=Key(), min_length=1, max_length=MOST_ROWS)


@tool("project.create", arguments=ProjectArguments, contract=LOCAL)
def create_project(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Create a project and its tasks: one action, many rows."""
    code = arguments["code"]
    if code and (other := Project.objects.filter(owner=call.owner, code=code, deleted_at=None).first()):
        raise ToolRefusesError(f"The code {code} is taken by project {other.pk}.")
    project = Project(owner=call.owner, created_at=call.now, name=arguments["name"], code=code)
    bulk_create_with_history([project], Project, default_date=call.now)
    tasks = [Task(owner=call.owner, created_at=call.now, project=project, title=title) for title in arguments["tasks"]]
    kept = bulk_create_with_history(tasks, Task, default_date=call.now) if tasks else []
    return [
        Written(type="project", id=str(project.pk), title=project.name),
        *(Written(type="task", id=str(task.pk), title=task.title) for task in kept),
    ]


@tool("note.create", arguments=NoteArguments, contract=LOCAL)
def create_note(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Create one note."""
    note = Note(owner=call.owner, created_at=call.now, title=arguments["title"], body=arguments["body"])
    bulk_create_with_history([note], Note, default_date=call.now)
    return [Written(type="note", id=str(note.pk), title=note.title)]


@tool("task.create", arguments=TaskArguments, contract=LOCAL)
def create_task(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Create one task in a project that is there."""
    [project] = call.hold("project", [arguments["project"]])
    task = Task(owner=call.owner, created_at=call.now, project=project, title=arguments["title"])
    bulk_create_with_history([task], Task, default_date=call.now)
    return [Written(type="task", id=str(task.pk), title=task.title)]


@tool("task.update", arguments=TaskChanges, contract=LOCAL)
def update_task(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Change a task's title, or tick it off."""
    [task] = call.hold("task", [arguments["task"]])
    return [_changed("task", task, arguments, call)]


@tool("note.update", arguments=NoteChanges, contract=LOCAL)
def update_note(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Change a note's title or text."""
    [note] = call.hold("note", [arguments["note"]])
    return [_changed("note", note, arguments, call)]


@tool("project.archive", arguments=ProjectsArguments, contract=LOCAL)
def archive_projects(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Archive projects: one action, as many rows as are named. Tasks stay as they are."""
    projects = call.hold("project", list(dict.fromkeys(arguments["projects"])))
    for project in projects:
        project.archived_at = call.now
    bulk_update_with_history(projects, Project, ["archived_at"], default_date=call.now)
    return [Written(type="project", id=str(row.pk), title=row.name, operation=Operation.UPDATE) for row in projects]


@tool("note.delete", arguments=NotesArguments, contract=LOCAL)
def delete_notes(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Put notes in the workspace's own trash: one action, as many rows as are named."""
    notes = call.hold("note", list(dict.fromkeys(arguments["notes"])))
    NoteAdapter().remove(notes, by=call.by, now=call.now)
    return [Written(type="note", id=str(note.pk), title=note.title, operation=Operation.DELETE) for note in notes]


def _changed(type_: str, row: Kept, changes: dict[str, Any], call: Call) -> Written:
    names = [name for name in changes if name != type_]
    for name in names:
        setattr(row, name, changes[name])
    bulk_update_with_history([row], type(row), names, default_date=call.now)
    return Written(type=type_, id=str(row.pk), title=str(row), operation=Operation.UPDATE)


declare("email.send", Contract(revoke_class=RevokeClass.NONE, reason="a sent e-mail does not come back"))
