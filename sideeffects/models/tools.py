"""What an agent can call, and which system holds the result."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

STALE_MINUTES = 60  # how long something may stay unresolved where neither tool nor target says otherwise
IN_FLIGHT = 10  # requests at a time, where an admin has not said otherwise


class Target(models.Model):
    """A system that holds results of tools; nothing is asked of it until an admin has registered it.

    `mapping` says how its answers read (see `targets.answers.said_by`); `callback_secret` is encrypted at rest.
    Being down is one fact of the target: `unreachable_since`, and when one request tries whether it is back.
    """

    name = models.CharField(max_length=100, unique=True)
    base_url = models.CharField(max_length=500, blank=True)
    audience = models.CharField(max_length=500, blank=True)
    seen_at = models.DateTimeField()
    seen_by = models.CharField(max_length=200)

    registered_at = models.DateTimeField(null=True, blank=True)
    registered_by = models.CharField(max_length=200, blank=True)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_by = models.CharField(max_length=200, blank=True)
    mapping = models.JSONField(default=dict, blank=True)
    callback_secret = models.TextField(blank=True)
    stale_minutes = models.PositiveIntegerField(null=True, blank=True)
    max_in_flight = models.PositiveIntegerField(default=IN_FLIGHT)

    unreachable_since = models.DateTimeField(null=True, blank=True)
    unreachable_why = models.CharField(max_length=200, blank=True)
    unreachable_tries = models.PositiveIntegerField(default=0)
    probe_at = models.DateTimeField(null=True, blank=True)
    last_answer_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(registered_at__isnull=True, registered_by="")
                | (Q(registered_at__isnull=False) & ~Q(registered_by="") & ~Q(base_url="") & ~Q(audience="")),
                name="target_registered_at_with_by",
            ),
            models.CheckConstraint(
                condition=Q(disabled_at__isnull=True, disabled_by="")
                | (Q(disabled_at__isnull=False) & ~Q(disabled_by="")),
                name="target_disabled_at_with_by",
            ),
            models.CheckConstraint(condition=Q(max_in_flight__gte=1), name="target_lets_one_through"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_askable(self) -> bool:
        """Say whether requests to it may be made: an admin has registered it (one that is disabled waits)."""
        return self.registered_at is not None


class Tool(models.Model):
    """A tool by its name; what it promises stands in its versions."""

    name = models.CharField(max_length=200, unique=True)

    def __str__(self) -> str:
        return self.name


class ToolVersion(models.Model):
    """What a tool declared about itself from a moment on; added and never edited, pinned to each group at its call.

    `contract` is the canonical form of `sideeffects.tools.Contract`; `digest` its SHA-256.
    """

    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    contract = models.JSONField()
    digest = models.CharField(max_length=64)
    target = models.ForeignKey(Target, on_delete=models.PROTECT, null=True, blank=True, related_name="tool_versions")
    declared_at = models.DateTimeField()
    declared_by = models.CharField(max_length=200)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tool", "number"], name="tool_version_number_once")]

    def __str__(self) -> str:
        return f"{self.tool_id} v{self.number}"
