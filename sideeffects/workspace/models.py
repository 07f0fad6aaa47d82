"""Which sample objects may an agent write? Each is soft-deleted and keeps its versions."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from simple_history.models import HistoricalRecords

from audit.loaded import Loaded


class Kept(Loaded):
    """A row with an owner that is deleted by a stamp, so that it can come back under its own id."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True
        constraints: ClassVar[list[Any]] = [
            models.CheckConstraint(
                condition=models.Q(deleted_at__isnull=True, deleted_by="")
                | (models.Q(deleted_at__isnull=False) & ~models.Q(deleted_by="")),
                name="%(class)s_deleted_at_with_by",
            ),
        ]


class Project(Kept):
    """A piece of work with a name, and maybe a code, which no other living project of its owner has."""

    name = models.CharField(max_length=200)
    code = models.CharField(max_length=40, blank=True)
    archived_at = models.DateTimeField("archived", null=True, blank=True)
    history = HistoricalRecords()

    class Meta(Kept.Meta):
        constraints: ClassVar[list[Any]] = [
            *Kept.Meta.constraints,
            models.UniqueConstraint(
                fields=["owner", "code"],
                condition=models.Q(deleted_at__isnull=True) & ~models.Q(code=""),
                name="project_code_once_among_the_living",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Task(Kept):
    """One thing to do in a project."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="tasks")
    title = models.CharField(max_length=200)
    done = models.BooleanField(default=False)
    history = HistoricalRecords()

    def __str__(self) -> str:
        return self.title


class Note(Kept):
    """A text that stands by itself."""

    title = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    history = HistoricalRecords()

    def __str__(self) -> str:
        return self.title
