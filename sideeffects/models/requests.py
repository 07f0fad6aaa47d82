"""What is asked of targets, every try at it, and every word that came back. The row is the queue."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from sideeffects.models.groups import Effect, Group
from sideeffects.models.people import Agent
from sideeffects.models.revocations import Revocation
from sideeffects.models.tools import Target, ToolVersion
from sideeffects.transitions import EffectState


class Request(models.Model):
    """What is asked of a target about one effect: one compensation, one key, however many tries.

    `id` is the Idempotency-Key of every try. `next_try_at` makes it due: to be sent while `state` is requesting, to
    be asked about otherwise; null where nothing happens by itself. `lease_until` is held by whoever carries it now.
    `state` mirrors the effect's; a request that was refused and asked anew is not `current` any more.
    What decides how a 404 reads: `accepted_at` (a try was accepted), `present_at` (a read showed the object),
    `maybe_at` (a try may have arrived).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="requests")
    revocation = models.ForeignKey(Revocation, on_delete=models.PROTECT, related_name="requests")
    target = models.ForeignKey(Target, on_delete=models.PROTECT, related_name="requests")
    tool_version = models.ForeignKey(ToolVersion, on_delete=models.PROTECT)
    current = models.BooleanField(default=True)

    method = models.CharField(max_length=8)
    path = models.CharField(max_length=1000)
    body = models.JSONField(null=True, blank=True)
    body_digest = models.CharField(max_length=64, blank=True)
    if_match = models.CharField(max_length=200, blank=True)
    read_path = models.CharField(max_length=1000, blank=True)
    status_url = models.CharField(max_length=1000, blank=True)

    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="requests_asked")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="requests_asked")

    state = models.CharField(
        max_length=16,
        choices=[(item.value, item.value) for item in EffectState],
        default=EffectState.REQUESTING.value,
    )
    state_at = models.DateTimeField()
    detail = models.CharField(max_length=500, blank=True)
    flag = models.CharField(max_length=20, blank=True)
    next_try_at = models.DateTimeField(null=True, blank=True)
    asks_first = models.BooleanField(default=False)
    lease_until = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveIntegerField(default=0)
    attempted = models.PositiveIntegerField(default=0)
    asked_status = models.PositiveIntegerField(default=0)
    asked_status_at = models.DateTimeField(null=True, blank=True)

    sent_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    maybe_at = models.DateTimeField(null=True, blank=True)
    present_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    word_at = models.DateTimeField(null=True, blank=True)
    word_heard_at = models.DateTimeField(null=True, blank=True)

    suspended_at = models.DateTimeField(null=True, blank=True)
    needs_person_since = models.DateTimeField(null=True, blank=True)
    stale_at = models.DateTimeField(null=True, blank=True)
    stale_since = models.DateTimeField(null=True, blank=True)

    attested_at = models.DateTimeField(null=True, blank=True)
    attested_by = models.CharField(max_length=200, blank=True)
    attested_reason = models.CharField(max_length=20, blank=True)
    attested_evidence = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["effect"], condition=Q(current=True), name="one_current_request"),
            models.CheckConstraint(
                condition=Q(state__in=[item.value for item in EffectState]), name="request_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(attested_at__isnull=True, attested_by="")
                | (Q(attested_at__isnull=False) & ~Q(attested_by="") & ~Q(attested_evidence="")),
                name="attested_at_with_by_and_evidence",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["target", "next_try_at"],
                name="request_due",
                condition=Q(next_try_at__isnull=False, suspended_at__isnull=True),
            ),
            models.Index(
                fields=["target", "lease_until"], name="request_leased", condition=Q(lease_until__isnull=False)
            ),
            models.Index(
                fields=["stale_at"], name="request_to_go_stale", condition=Q(stale_at__isnull=False, stale_since=None)
            ),
            models.Index(
                fields=["state", "state_at"],
                name="request_unresolved",
                condition=Q(current=True, state__in=["requesting", "compensating", "unknown", "refused"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.path} at {self.target_id}"


class Attempt(models.Model):
    """One HTTP try at a request: written before it leaves, ended when its answer is settled, never edited after.

    One that was never ended is a try of unknown fate. `excerpt` is scrubbed and for admins only.
    """

    class Purpose(models.TextChoices):
        SEND = "send"
        ASK = "ask"

    request = models.ForeignKey(Request, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    purpose = models.CharField(max_length=4, choices=Purpose)
    jti = models.UUIDField(unique=True)
    kid = models.CharField(max_length=64)
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=1000)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    kind = models.CharField(max_length=10, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True)
    said = models.CharField(max_length=8, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    excerpt = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["request_id", "number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["request", "number"], name="one_attempt_per_number")]

    def __str__(self) -> str:
        return f"{self.method} {self.path} try {self.number}"


class Callback(models.Model):
    """A word that a target sent by itself, once for its webhook id; kept whether it changed anything or not."""

    target = models.ForeignKey(Target, on_delete=models.PROTECT, related_name="callbacks")
    webhook_id = models.CharField(max_length=255)
    request = models.ForeignKey(Request, on_delete=models.PROTECT, related_name="callbacks")
    said = models.CharField(max_length=8)
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()
    heard_at = models.DateTimeField()
    digest = models.CharField(max_length=64)
    applied = models.BooleanField()

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["target", "webhook_id"], name="one_callback_per_id")]

    def __str__(self) -> str:
        return f"{self.said} of {self.request_id}"


class Notice(models.Model):
    """Something that a person should hear of by mail; the row is the queue of the mails."""

    # About an action, or about something else of an owner's that `about` names in this system's words.
    group = models.ForeignKey(Group, on_delete=models.PROTECT, null=True, blank=True, related_name="notices")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    about = models.CharField(max_length=200, blank=True)
    request = models.ForeignKey(Request, on_delete=models.PROTECT, null=True, blank=True, related_name="notices")
    kind = models.CharField(max_length=16)
    detail = models.CharField(max_length=500, blank=True)
    made_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["id"], name="notice_unsent", condition=Q(sent_at__isnull=True))]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(group__isnull=False) | (Q(owner__isnull=False) & ~Q(about="")), name="notice_is_about"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.group_id or self.about}"

    @property
    def recipient(self) -> Any:
        """Return the owner that it is about."""
        return self.owner if self.group is None else self.group.owner


class SigningKey(models.Model):
    """A key that signs delegated tokens: next, active, retiring, retired. The private half is encrypted at rest."""

    class State(models.TextChoices):
        NEXT = "next"
        ACTIVE = "active"
        RETIRING = "retiring"
        RETIRED = "retired"

    kid = models.CharField(max_length=64, primary_key=True)
    state = models.CharField(max_length=8, choices=State)
    public = models.JSONField()
    private = models.TextField()
    made_at = models.DateTimeField()
    active_at = models.DateTimeField(null=True, blank=True)
    retiring_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["state"], condition=Q(state="next"), name="one_next_key"),
            models.UniqueConstraint(fields=["state"], condition=Q(state="active"), name="one_active_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kid} {self.state}"
