"""What an agent can call, and which system holds the result."""

from typing import ClassVar

from django.db import models


class Target(models.Model):
    """A system that holds results of tools; nothing is asked of it until an admin has registered it."""

    name = models.CharField(max_length=100, unique=True)
    base_url = models.URLField(max_length=500, blank=True)
    audience = models.CharField(max_length=500, blank=True)
    seen_at = models.DateTimeField()
    seen_by = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name


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
