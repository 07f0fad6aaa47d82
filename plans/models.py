"""Which plans were proposed, with which keys do agents sign, and which plans are carried out?"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState
from sideeffects.models import Agent, AgentToken, Group


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


class Execution(models.Model):
    """An accepted plan being carried out, bound to the plan's digest.

    The two stamps are set once, by the sweep: when the next window to close was about to, and when one had closed
    while the execution still went well. A rollback goes on as who asked for it, so that a crash loses nothing.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    plan = models.ForeignKey(PlanSubmission, on_delete=models.PROTECT, related_name="executions")
    digest = models.CharField(max_length=64)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="executions")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="executions")
    conversation = models.CharField(max_length=200)
    run = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=12, choices=[(item.value, item.value) for item in ExecutionState])
    started_at = models.DateTimeField()
    started_by = models.CharField(max_length=200)
    ended_at = models.DateTimeField(null=True, blank=True)
    perishing_since = models.DateTimeField(null=True, blank=True)
    unrecoverable_since = models.DateTimeField(null=True, blank=True)
    watch_at = models.DateTimeField(null=True, blank=True)  # when the sweep has to look at its windows again
    refused = models.CharField(
        max_length=300, blank=True
    )  # the newest refusal on the log, so that it stands there once

    rollback_at = models.DateTimeField(null=True, blank=True)
    rollback_by = models.CharField(max_length=200, blank=True)
    rollback_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    rollback_token = models.ForeignKey(AgentToken, on_delete=models.PROTECT, null=True, related_name="+")
    rollback_reason = models.CharField(max_length=1000, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["owner", "-id"], name="executions_of_owner"),
            models.Index(fields=["watch_at"], name="executions_watched", condition=Q(state="running")),
            models.Index(fields=["id"], name="executions_rolling_back", condition=Q(state="rolling_back")),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "digest"],
                condition=Q(state__in=["running", "finished", "stopped"]),
                name="one_execution_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[one.value for one in ExecutionState]), name="execution_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(rollback_at__isnull=True, rollback_by="", rollback_user__isnull=True)
                | (Q(rollback_at__isnull=False, rollback_user__isnull=False) & ~Q(rollback_by="")),
                name="rollback_at_with_by",
            ),
        ]

    def __str__(self) -> str:
        return f"execution {self.pk} {self.state}"


class StepRun(models.Model):
    """One try of one step. `due_at` and `undo_expires_at` are counted from its begin; None is not declared."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    execution = models.ForeignKey(Execution, on_delete=models.PROTECT, related_name="runs")
    index = models.PositiveIntegerField()
    step = models.CharField(max_length=100)  # its id for lists and sentences; inert, cut
    attempt = models.PositiveIntegerField(default=1)
    human = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=[(item.value, item.value) for item in RunState])
    begun_at = models.DateTimeField()
    begun_by = models.CharField(max_length=200)
    due_at = models.DateTimeField(null=True, blank=True)
    undo_expires_at = models.DateTimeField(null=True, blank=True)
    reserved = models.DecimalField(max_digits=30, decimal_places=12)
    spent = models.DecimalField(max_digits=30, decimal_places=12, null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    undone_at = models.DateTimeField(null=True, blank=True)
    undone = models.CharField(max_length=20, blank=True)  # what undoing it came to, as answered then
    undone_detail = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering: ClassVar = ["execution_id", "index", "attempt"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["execution", "index", "attempt"], name="one_row_per_try"),
            models.UniqueConstraint(
                fields=["execution", "index"], condition=Q(state="begun"), name="one_try_of_a_step_at_a_time"
            ),
            models.UniqueConstraint(fields=["group"], name="one_step_per_group"),
            models.CheckConstraint(condition=Q(state__in=[one.value for one in RunState]), name="run_state_is_known"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, ended_by="", state="begun")
                | (Q(ended_at__isnull=False) & ~Q(ended_by="") & ~Q(state="begun")),
                name="run_ended_at_with_by",
            ),
            models.CheckConstraint(
                condition=Q(undone_at__isnull=True, undone="") | (Q(undone_at__isnull=False) & ~Q(undone="")),
                name="run_undone_at_with_outcome",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.step} #{self.attempt} {self.state}"


class Approval(models.Model):
    """A person is asked whether a step may be: bound to the plan's digest and the step's bytes. Never changed.

    Whether it is still open follows from the clock and from whether there is a decision.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    run = models.OneToOneField(StepRun, on_delete=models.PROTECT, related_name="approval")
    digest = models.CharField(max_length=64)
    step_sha256 = models.CharField(max_length=64)
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=200)
    deadline = models.DateTimeField()  # its step's bound, or the mandate's end

    def __str__(self) -> str:
        return f"approval {self.pk}"


class Decision(models.Model):
    """What a person decided about an approval: once, and never changed."""

    class Verdict(models.TextChoices):
        APPROVED = "approved"
        DECLINED = "declined"

    approval = models.OneToOneField(Approval, on_delete=models.PROTECT, primary_key=True, related_name="decision")
    verdict = models.CharField(max_length=8, choices=Verdict)
    decided_at = models.DateTimeField()
    decided_by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    authority = models.CharField(max_length=8)
    reason = models.CharField(max_length=1000, blank=True)

    def __str__(self) -> str:
        return f"{self.verdict} {self.approval_id}"
