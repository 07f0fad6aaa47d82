"""Which actions are taken back together, or brought back together, and what has become of each so far?"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from audit.loaded import Loaded
from sideeffects.models.groups import Group
from sideeffects.models.people import Agent, AgentToken
from sideeffects.models.revocations import Revocation
from sideeffects.transitions import Outcome


class Batch(Loaded):
    """One asking about many groups: the selection is frozen in its items, and they are the queue of its work.

    `scope` says what was asked for; `of` is the batch whose doing a restore undoes. `authority` is as it was when it
    was asked for; policy is asked again for each group. `why` says why it was stopped.
    """

    class Kind(models.TextChoices):
        REVOKE = "revoke"
        RESTORE = "restore"

    class State(models.TextChoices):
        WORKING = "working"
        STOPPED = "stopped"
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=7, choices=Kind)
    of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="restores")
    scope = models.JSONField(default=dict)
    leave_later = models.BooleanField(default=False)
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="batches_asked")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="batches_asked")
    token = models.ForeignKey(AgentToken, on_delete=models.PROTECT, null=True, blank=True, related_name="batches_asked")
    authority = models.CharField(max_length=8, choices=Revocation.Authority)
    reason = models.CharField(max_length=1000, blank=True)
    key = models.CharField(max_length=64, blank=True)  # the hash of the asker's own Idempotency-Key
    fingerprint = models.CharField(max_length=64, blank=True)
    groups = models.PositiveIntegerField()
    effects = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State)
    state_at = models.DateTimeField()
    state_by = models.CharField(max_length=200)
    why = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["key"], condition=~Q(key=""), name="one_batch_per_key"),
            models.UniqueConstraint(
                fields=["of"], condition=Q(state__in=["working", "stopped"]), name="one_restore_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(kind="revoke", of__isnull=True) | Q(kind="restore", of__isnull=False),
                name="a_restore_is_of_a_batch",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["user", "-id"], name="batch_by_user"),
            models.Index(fields=["id"], name="batch_at_work", condition=Q(state="working")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} batch {self.id}"


class BatchItem(Loaded):
    """One group of a batch; `position` is when its turn comes, and `not attempted` says that it has not come yet.

    `outcome` and `detail` are as answered then. `revocation` is what this batch did (or, in a restore, undid).
    """

    batch = models.ForeignKey(
        Batch,
        on_delete=models.PROTECT,
        related_name="items",
        db_index=False,  # those with `position` and `outcome` serve
    )
    position = models.PositiveIntegerField()
    group = models.ForeignKey(
        Group,
        on_delete=models.PROTECT,
        related_name="batch_items",
        db_index=False,  # the one of `each_group_once` serves: it is always asked of a batch
    )
    members = models.PositiveIntegerField()
    outcome = models.CharField(
        max_length=16, choices=[(item.value, item.value) for item in Outcome], default=Outcome.NOT_ATTEMPTED.value
    )
    detail = models.CharField(max_length=500, blank=True)
    refusal = models.CharField(max_length=60, blank=True)  # the code of what kept the group as it was
    revocation = models.ForeignKey(
        Revocation,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="batch_items",
        db_index=False,  # one of a batch is found by its action
    )
    worked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["batch", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["batch", "group"], name="each_group_once"),
            models.CheckConstraint(
                condition=Q(outcome="not attempted", worked_at__isnull=True)
                | (~Q(outcome="not attempted") & Q(worked_at__isnull=False)),
                name="worked_at_with_outcome",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["batch", "position"], name="batch_item_waiting", condition=Q(outcome="not attempted")),
            models.Index(fields=["batch", "outcome", "position"], name="batch_item_by_outcome"),
        ]

    def __str__(self) -> str:
        return f"{self.group_id} {self.outcome}"
