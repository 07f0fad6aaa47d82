"""Which plans were proposed, and with which keys do agents sign?"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from sideeffects.models import Agent


class PlanSubmission(models.Model):
    """A plan as it was proposed: its exact bytes and what was found then; refused ones are kept too. Never changed."""

    class Signature(models.TextChoices):
        UNSIGNED = "unsigned"
        VERIFIED = "verified"
        UNCHECKED = "unchecked"
        WRONG = "wrong"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="plans")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="plans")  # null: a person's own
    body = models.BinaryField()
    body_sha256 = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, blank=True, db_index=True)  # empty where the plan has no canonical form
    saga = models.CharField(max_length=100, blank=True)  # for lists; inert, cut
    title = models.CharField(max_length=100, blank=True)  # its $comment, for lists; inert, cut
    version = models.BigIntegerField(null=True)
    author = models.CharField(max_length=100, blank=True)  # who wrote it, by the plan's own word; inert, cut
    signature = models.CharField(max_length=10, choices=Signature)
    profile = models.CharField(max_length=10)
    accepted = models.BooleanField()
    violations = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    judged_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "-id"], name="plans_of_owner")]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(accepted=False) | ~Q(digest=""), name="accepted_plan_has_digest"),
            models.CheckConstraint(
                condition=Q(accepted=False) | ~Q(signature="wrong"), name="accepted_plan_is_not_forged"
            ),
        ]

    def __str__(self) -> str:
        return f"plan {self.saga} {self.pk}"


class AgentKey(models.Model):
    """A public key with which an agent signs its plans; the private one never comes here."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    public_key = models.BinaryField()  # Ed25519, 32 bytes
    fingerprint = models.CharField(max_length=64)  # SHA-256 of it, in hex
    registered_at = models.DateTimeField()
    registered_by = models.CharField(max_length=200)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["agent", "fingerprint"], name="one_row_per_agent_key"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True, withdrawn_by="")
                | (Q(withdrawn_at__isnull=False) & ~Q(withdrawn_by="")),
                name="key_withdrawn_at_with_by",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint[:12]}… of {self.agent_id}"
