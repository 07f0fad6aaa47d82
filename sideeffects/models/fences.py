"""What is to be revoked as soon as it lands, who asked for that, and what came of it?"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from sideeffects.models.groups import Group
from sideeffects.models.people import Agent, AgentToken
from sideeffects.models.revocations import Revocation


class Fence(models.Model):
    """One call in flight is to be revoked when it arrives; the fence waits until it is lifted or ends."""

    class Result(models.TextChoices):
        FIRED = "fired"  # how far the revoke got, the group says
        NOTHING_LEFT = "nothing left"
        REFUSED = "refused"
        NOTHING_WRITTEN = "nothing written"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="fences")
    set_at = models.DateTimeField()
    set_by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="fences_set")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="fences_set")
    token = models.ForeignKey(AgentToken, on_delete=models.PROTECT, null=True, blank=True, related_name="fences_set")
    authority = models.CharField(max_length=8, choices=Revocation.Authority)
    reason = models.CharField(max_length=1000, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.CharField(max_length=200, blank=True)
    lifted_reason = models.CharField(max_length=1000, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    result = models.CharField(max_length=16, choices=Result, blank=True)
    detail = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["group"],
                condition=Q(lifted_at__isnull=True, ended_at__isnull=True),
                name="one_waiting_fence",
            ),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True, lifted_by="") | (Q(lifted_at__isnull=False) & ~Q(lifted_by="")),
                name="fence_lifted_at_with_by",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, result="") | (Q(ended_at__isnull=False) & ~Q(result="")),
                name="fence_ended_at_with_result",
            ),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True) | Q(ended_at__isnull=True), name="fence_lifted_or_ended"
            ),
        ]

    def __str__(self) -> str:
        return f"fence of {self.group_id}"

    @property
    def is_waiting(self) -> bool:
        """Say whether it would still fire."""
        return self.lifted_at is None and self.ended_at is None

    @property
    def state(self) -> str:
        """Return what has become of it."""
        if self.lifted_at is not None:
            return "lifted"
        return self.result or "waiting"
