"""Who may act: roles of people, agents and their tokens."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7


class Role(models.Model):
    """A role that a person holds beyond owning what agents did for them. Mutable; the log keeps the history."""

    class Name(models.TextChoices):
        ADMIN = "admin"
        AUDITOR = "auditor"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="takeback_roles")
    role = models.CharField(max_length=16, choices=Name)
    granted_at = models.DateTimeField()
    granted_by = models.CharField(max_length=200)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "role"], name="one_row_per_role"),
            models.CheckConstraint(condition=Q(role__in=["admin", "auditor"]), name="role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.user_id}"


class Agent(models.Model):
    """A program that acts for people; it has no password, only tokens."""

    name = models.CharField(max_length=100, unique=True)
    registered_at = models.DateTimeField()
    registered_by = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name


class AgentToken(models.Model):
    """A key with which one agent acts for one owner: the secret itself is never stored, only prefix and hash."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="tokens")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="agent_tokens")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=12, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=200)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True, withdrawn_by="")
                | (Q(withdrawn_at__isnull=False) & ~Q(withdrawn_by="")),
                name="token_withdrawn_at_with_by",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… of {self.agent_id}"
