"""What does Django's own admin show of the log? Everything, and it changes nothing."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit.models import Checkpoint, Head, Record, Seal, Subject, Tile, Unsealed


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # (not subscriptable when it runs)
    """Shows rows to staff with the view permission; adds, changes and deletes nothing."""

    show_full_result_count = False
    ordering = ("-pk",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  (Django's signature)
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  (Django's signature)
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  (Django's signature)
        """Refuse."""
        return False


@admin.register(Record)
class RecordAdmin(ReadOnly):
    """Records, by what they are found by."""

    list_display = ("uid", "log", "action", "target_type", "target_id", "actor", "owner", "outcome", "occurred_at")


@admin.register(Seal)
class SealAdmin(ReadOnly):
    """Places in the chain."""

    list_display = ("seq", "log", "record_id", "chain")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnly):
    """Signed heads that were published."""

    list_display = ("size", "origin", "log", "published_at")


admin.site.register([Subject, Tile, Unsealed, Head], ReadOnly)
