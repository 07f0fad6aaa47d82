"""How do tests make and change the sample objects of the workspace?"""

from typing import Any

from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from sideeffects.workspace.models import Note, Project, Task
from tests.factories import NOW
from tests.samples import Sample


def _made(row: Any) -> Any:
    return bulk_create_with_history([row], type(row), default_date=NOW)[0]


def _project(owner: Any, text: str) -> Project:
    made: Project = _made(Project(owner=owner, created_at=NOW, name=text))
    return made


def _task(owner: Any, text: str) -> Any:
    return _made(Task(owner=owner, created_at=NOW, project=_project(owner, "Project"), title=text))


def _sample(type_: str, model: Any, text: str, **more: Any) -> Sample:
    def write(row: Any, said: str) -> None:
        setattr(row, text, said)
        bulk_update_with_history([row], model, [text], default_date=NOW)

    def erase(row: Any) -> None:
        model.history.filter(id=row.pk).delete()
        model.objects.filter(pk=row.pk).delete()

    return Sample(
        type=type_,
        text=text,
        write=write,
        edit=lambda row, said: model.objects.filter(pk=row.pk).update(**{text: said}),
        give=lambda row, person: model.objects.filter(pk=row.pk).update(owner=person),
        erase=erase,
        **more,
    )


SAMPLES = [
    _sample(
        "project", Project, "name", make=_project, create=lambda said: ("project.create", {"name": said, "tasks": []})
    ),
    _sample(
        "task",
        Task,
        "title",
        make=_task,
        create=lambda said: ("project.create", {"name": "Project", "tasks": [said]}),
        change=lambda key, said: ("task.update", {"task": key, "title": said}),
    ),
    _sample(
        "note",
        Note,
        "title",
        make=lambda owner, said: _made(Note(owner=owner, created_at=NOW, title=said)),
        create=lambda said: ("note.create", {"title": said}),
        change=lambda key, said: ("note.update", {"note": key, "title": said}),
        delete=lambda key: ("note.delete", {"notes": [key]}),
    ),
]
