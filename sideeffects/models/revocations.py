"""Who asked to take what back, and what became of each member."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from audit.loaded import Loaded
from sideeffects.models.groups import Effect, Group
from sideeffects.transitions import Outcome


class Revocation(Loaded):
    """One asking: who, when, why, of which group; restore and purge belong to one.

    When its rows are purged was fixed at the revoke and stands on them (`Effect.purge_at`). Here stands when that was
    announced, when it was last tried in vain, since when it is held and why.
    """

    class Trigger(models.TextChoices):
        CLICK = "click"
        API = "api"
        FENCE = "fence"
        BATCH = "batch"
        ROLLBACK = "rollback"

    class Authority(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        AGENT = "agent"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="revocations")
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="revocations_asked",
        db_index=False,  # nothing looks for them by who asked
    )
    agent = models.ForeignKey(
        "sideeffects.Agent",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="revocations_asked",
        db_index=False,  # the one with `asked_at` serves
    )
    trigger = models.CharField(max_length=16, choices=Trigger)
    batch = models.ForeignKey(
        "sideeffects.Batch",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="revocations",
        db_index=False,  # a batch's are found by its items
    )
    authority = models.CharField(max_length=8, choices=Authority)
    reason = models.CharField(max_length=1000, blank=True)
    restored_at = models.DateTimeField(null=True, blank=True)
    restored_by = models.CharField(max_length=200, blank=True)
    purge_announced_at = models.DateTimeField(null=True, blank=True)
    purge_tried_at = models.DateTimeField(null=True, blank=True)
    purge_held_since = models.DateTimeField(null=True, blank=True)
    purge_held_why = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(purge_held_since__isnull=True, purge_held_why="")
                | (Q(purge_held_since__isnull=False) & ~Q(purge_held_why="")),
                name="purge_held_since_with_why",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["agent", "asked_at"], name="revocation_by_agent")]

    def __str__(self) -> str:
        return f"revocation {self.id} of {self.group_id}"


class MemberOutcome(Loaded):
    """What became of one member in one revocation, as answered then; never edited."""

    revocation = models.ForeignKey(
        Revocation,
        on_delete=models.PROTECT,
        related_name="outcomes",
        db_index=False,  # the one of `one_outcome_per_member` serves
    )
    effect = models.ForeignKey(
        Effect,
        on_delete=models.PROTECT,
        related_name="outcomes",
        db_index=False,  # always asked of a revocation
    )
    outcome = models.CharField(max_length=16, choices=[(item.value, item.value) for item in Outcome])
    detail = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["revocation", "effect"], name="one_outcome_per_member")
        ]

    def __str__(self) -> str:
        return f"{self.effect_id} {self.outcome}"
