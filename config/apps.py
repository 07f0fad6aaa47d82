"""What is wired once all apps are loaded?"""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Brings the commands of this folder, and loads Celery late so that a bare Python can import `config`."""

    name = "config"

    def ready(self) -> None:
        """Load the Celery app, so that tasks bind to it and never to a broker on localhost."""
        from config import celery  # noqa: F401, PLC0415  (loading it is the effect; at the top it would load too early)
