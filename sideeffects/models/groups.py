"""What one tool call did: the group, its effects, and every declaration of it."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from uuid6 import uuid7

from audit.loaded import Loaded
from sideeffects.models.people import Agent
from sideeffects.models.tools import Target, ToolVersion
from sideeffects.transitions import EffectState, GroupState, Member, Operation, RevokeClass

_RESOLUTIONS = ["adopt", "split", "dismiss"]


def _choices(enum: type[GroupState | EffectState | Operation | RevokeClass]) -> list[tuple[str, str]]:
    return [(item.value, item.value) for item in enum]


class Group(Loaded):
    """All effects of one tool call. `key` is the hash of what was asked and by whom: never shown, never logged."""

    class Source(models.TextChoices):
        EXECUTED = "executed"
        REPORTED = "reported"
        IMPORTED = "imported"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="groups_owned")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="groups")
    tool = models.CharField(max_length=200)
    tool_version = models.ForeignKey(ToolVersion, on_delete=models.PROTECT, null=True, blank=True)
    source = models.CharField(max_length=8, choices=Source)
    conversation = models.CharField(max_length=200)
    run = models.CharField(max_length=200, blank=True)
    execution = models.CharField(max_length=200, blank=True)
    step = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=500, blank=True)

    key = models.CharField(max_length=64)
    explicit_key = models.BooleanField(default=False)
    fingerprint = models.CharField(max_length=64)
    generation = models.PositiveIntegerField(default=0)
    again_after_revoke = models.BooleanField(default=False)
    repeats = models.PositiveIntegerField(default=0)
    declarations_not_kept = models.PositiveIntegerField(default=0)

    state = models.CharField(max_length=8, choices=_choices(GroupState))
    lease_until = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField()
    opened_by = models.CharField(max_length=200)
    landed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    stale_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            # A failed call consumes no key; everything else holds it, for ever.
            models.UniqueConstraint(
                fields=["owner", "key", "generation"], condition=~Q(state="failed"), name="one_group_per_key"
            ),
            models.CheckConstraint(
                condition=Q(state__in=[item.value for item in GroupState]), name="group_state_is_known"
            ),
            models.CheckConstraint(condition=~Q(state="landed") | Q(landed_at__isnull=False), name="landed_has_a_time"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner", "-id"], name="group_by_owner"),
            models.Index(fields=["owner", "conversation", "-id"], name="group_by_conversation"),
            models.Index(fields=["state", "opened_at"], name="group_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.id}"

    def version_number(self) -> str | None:
        """Return the number of the contract that is pinned, as the log writes it; None where none was declared."""
        return str(self.tool_version.number) if self.tool_version else None

    def call_words(self) -> dict[str, str | None]:
        """Return how the log names this call; never its key or its arguments."""
        return {
            "tool": self.tool,
            "tool_version": self.version_number(),
            "conversation": self.conversation,
            "run": self.run,
        }


class Effect(Loaded):
    """One object a tool call created, changed or deleted; `position` 0 is the principal."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    group = models.ForeignKey(
        Group,
        on_delete=models.PROTECT,
        related_name="effects",
        db_index=False,  # the one of `one_member_per_position` serves
    )
    position = models.PositiveIntegerField()
    type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=200, blank=True)
    operation = models.CharField(max_length=8, choices=_choices(Operation))
    title = models.CharField(max_length=500, blank=True)
    version = models.CharField(max_length=200, blank=True)
    # Of a local object, as its adapter names them: at which version it was before the write, after it, and, only where
    # later changes were overridden, after the revoke (else that is what it was after the write, or before an update).
    version_before = models.CharField(max_length=60, blank=True)
    version_after = models.CharField(max_length=60, blank=True)
    version_undone = models.CharField(max_length=60, blank=True)
    version_over = models.CharField(max_length=60, blank=True)  # what an override passed over; a restore brings it back
    undo_expires_at = models.DateTimeField(null=True, blank=True)

    revoke_class = models.CharField(max_length=20, choices=_choices(RevokeClass))
    reason = models.CharField(max_length=500, blank=True)
    target = models.ForeignKey(
        Target,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="effects",
        db_index=False,  # `effect_by_target` holds those that have one
    )

    state = models.CharField(max_length=16, choices=_choices(EffectState), default=EffectState.ACTIVE.value)
    state_at = models.DateTimeField()
    revocation = models.ForeignKey(
        "sideeffects.Revocation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="removed",
    )
    purge_at = models.DateTimeField(null=True, blank=True)
    restored_at = models.DateTimeField(null=True, blank=True)
    restored_by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["group_id", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["group", "position"], name="one_member_per_position"),
            models.CheckConstraint(
                condition=Q(state__in=[item.value for item in EffectState]), name="effect_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(revoke_class__in=[item.value for item in RevokeClass]), name="revoke_class_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="revoked") | Q(revocation__isnull=False, purge_at__isnull=False),
                name="revoked_by_a_revocation",
            ),
            models.CheckConstraint(
                condition=Q(restored_at__isnull=True, restored_by="")
                | (Q(restored_at__isnull=False) & ~Q(restored_by="")),
                name="effect_restored_at_with_by",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["type", "object_id"], name="effect_by_object"),
            models.Index(fields=["target"], name="effect_by_target", condition=Q(target__isnull=False)),
            models.Index(fields=["-id"], name="effect_in_trash", condition=Q(state=EffectState.REVOKED.value)),
            models.Index(fields=["purge_at"], name="effect_to_purge", condition=Q(state=EffectState.REVOKED.value)),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.object_id}"

    def as_member(self) -> Member:
        """Return as much as its group's name depends on."""
        return Member(RevokeClass(self.revoke_class), EffectState(self.state), restored=self.restored_at is not None)


class Above(Loaded):
    """A local object that a local effect was written under, where its own call did not write that too."""

    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="above")
    type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=200)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["type", "object_id"], name="above_by_object")]

    def __str__(self) -> str:
        return f"{self.type} {self.object_id} above {self.effect_id}"


class Declaration(Loaded):
    """What a call says it wrote. The first is held; one that differs stands beside it as a conflict.

    A row that is not `kept` stands for all that came past the cap: only their number is known.
    """

    class Resolution(models.TextChoices):
        ADOPT = "adopt"
        SPLIT = "split"
        DISMISS = "dismiss"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="declarations")
    digest = models.CharField(max_length=64)
    effects = models.JSONField()
    held = models.BooleanField()
    kept = models.BooleanField(default=True)
    difference = models.JSONField(default=dict)
    seen = models.PositiveIntegerField(default=1)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    declared_by = models.CharField(max_length=200)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=200, blank=True)
    resolution = models.CharField(max_length=8, choices=Resolution, blank=True)
    resolved_reason = models.CharField(max_length=1000, blank=True)
    numbers = models.JSONField(default=dict)  # as they were when it was resolved: declared, held, differing
    split_into = models.OneToOneField(Group, on_delete=models.PROTECT, null=True, blank=True, related_name="split_from")

    class Meta:
        ordering: ClassVar = ["group_id", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["group", "digest"], name="one_row_per_declaration"),
            models.UniqueConstraint(fields=["group"], condition=Q(held=True), name="one_held_declaration"),
            models.CheckConstraint(condition=Q(last_seen_at__gte=F("first_seen_at")), name="seen_in_order"),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, resolved_by="", resolution="")
                | (Q(resolved_at__isnull=False, held=False, resolution__in=_RESOLUTIONS) & ~Q(resolved_by="")),
                name="resolved_at_with_by",
            ),
            models.CheckConstraint(
                condition=Q(split_into__isnull=True) | Q(resolution="split"), name="only_a_split_stands_elsewhere"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["group"], name="open_conflict", condition=Q(held=False, resolved_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{'held' if self.held else 'conflict'} {self.digest[:8]}"
