"""What does Django know of this app?"""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The audit log."""

    name = "audit"
