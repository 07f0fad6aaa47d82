"""What is in a person's workspace now? Only what is alive, so that one sees rows leave and come back."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from sideeffects.workspace.models import Kept, Note, Project, Task

PAGE = 20
MOST_TASKS = 50  # tasks named for each project


@dataclass(frozen=True)
class Shelf:
    """Some rows of one kind, newest first, how many there are, and the id below which the older ones begin."""

    rows: list[Any]
    total: int
    older: int | None


def projects(owner: Any, *, before: int | None) -> Shelf:
    """Return projects with their tasks, in three queries; also deleted ones of which tasks are alive."""
    alive = Task.objects.filter(deleted_at=None)
    rows = Project.objects.filter(owner=owner).filter(
        Q(deleted_at=None) | Q(Exists(alive.filter(project=OuterRef("pk"))))
    )
    shown = rows.annotate(alive=Count("tasks", filter=Q(tasks__deleted_at=None))).prefetch_related(
        Prefetch("tasks", alive.order_by("pk")[:MOST_TASKS], to_attr="alive_tasks")
    )
    return _shelf(shown, rows.count(), before)


def notes(owner: Any, *, before: int | None) -> Shelf:
    """Return notes, in two queries."""
    rows = Note.objects.filter(owner=owner, deleted_at=None)
    return _shelf(rows, rows.count(), before)


def _shelf(rows: QuerySet[Any], total: int, before: int | None) -> Shelf:
    found: list[Kept] = list((rows.filter(pk__lt=before) if before else rows).order_by("-pk")[: PAGE + 1])
    return Shelf(found[:PAGE], total, found[PAGE - 1].pk if len(found) > PAGE else None)
