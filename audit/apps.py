"""What does Django know of this app?"""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AuditConfig(AppConfig):
    """The audit log."""

    name = "audit"

    def ready(self) -> None:
        """Have the triggers put back after every migration."""
        from audit import triggers  # noqa: PLC0415  (the app registry must be complete)

        post_migrate.connect(triggers.put_back, sender=self, dispatch_uid="audit.triggers")
