"""What may Django's own admin show of this app? Everything to look at, nothing to change."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from sideeffects.models import (
    Agent,
    AgentToken,
    Declaration,
    Effect,
    Group,
    MemberOutcome,
    Revocation,
    Role,
    Target,
    Tool,
    ToolVersion,
)


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # (not subscriptable when it runs)
    """Shows rows; they change by services, which write the log."""

    actions = None
    exclude: ClassVar = ("key", "fingerprint", "secret_hash")  # guessable arguments stand behind a key

    def has_add_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Say no."""
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Say no."""
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        """Say no."""
        return False


for model in (
    Agent,
    AgentToken,
    Declaration,
    Effect,
    Group,
    MemberOutcome,
    Revocation,
    Role,
    Target,
    Tool,
    ToolVersion,
):
    admin.site.register(model, ReadOnly)
