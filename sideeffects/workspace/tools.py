"""What may an agent do in the sample workspace?"""

from typing import Any

from rest_framework import serializers
from simple_history.utils import bulk_create_with_history

from sideeffects.tools import Call, Contract, Written, declare, tool
from sideeffects.transitions import RevokeClass
from sideeffects.workspace.models import Note, Project, Task

MOST_TASKS = 1000
LOCAL = Contract(revoke_class=RevokeClass.LOCAL)


class ProjectArguments(serializers.Serializer[Any]):
    """A project's name and the titles of its tasks."""

    name = serializers.CharField(max_length=200)
    tasks = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MOST_TASKS, required=False, default=list
    )


class NoteArguments(serializers.Serializer[Any]):
    """A note's title and text."""

    title = serializers.CharField(max_length=200)
    body = serializers.CharField(max_length=20_000, required=False, default="", allow_blank=True)


@tool("project.create", arguments=ProjectArguments, contract=LOCAL)
def create_project(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Create a project and its tasks: one action, many rows."""
    project = Project(owner=call.owner, created_at=call.now, name=arguments["name"])
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


declare("email.send", Contract(revoke_class=RevokeClass.NONE, reason="a sent e-mail does not come back"))
