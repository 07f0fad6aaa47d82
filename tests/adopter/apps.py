"""What does Django know of this app?"""

from importlib import import_module

from django.apps import AppConfig


class AdopterConfig(AppConfig):
    """A help desk that was there before the console."""

    name = "tests.adopter"
    label = "adopter"

    def ready(self) -> None:
        """Register the adapters and the tools."""
        import_module("tests.adopter.takeback")
