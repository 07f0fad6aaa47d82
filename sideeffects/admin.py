"""What may Django's own admin show of this app? Everything to look at, nothing to change."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from sideeffects.models import (
    Agent,
    AgentToken,
    Attempt,
    Callback,
    Declaration,
    Effect,
    Fence,
    Group,
    MemberOutcome,
    Notice,
    Request,
    Revocation,
    Role,
    SigningKey,
    Target,
    Tool,
    ToolVersion,
)


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # (not subscriptable when it runs)
    """Shows rows; they change by services, which write the log."""

    actions = None
    exclude: ClassVar = (  # guessable arguments stand behind a key; secrets are encrypted, and nobody's to look at
        *("key", "fingerprint", "secret_hash", "private", "callback_secret"),
        "excerpt",  # what targets answer is for admins of this console, not for staff
    )

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
    Attempt,
    Callback,
    Declaration,
    Effect,
    Fence,
    Group,
    MemberOutcome,
    Notice,
    Request,
    Revocation,
    Role,
    SigningKey,
    Target,
    Tool,
    ToolVersion,
):
    admin.site.register(model, ReadOnly)
