"""What does Django know of this app?"""

from importlib import import_module

from django.apps import AppConfig


class PlansConfig(AppConfig):
    """Plans that agents propose, and their executions."""

    name = "plans"

    def ready(self) -> None:
        """Make the tool for decisions known, and hold calls that are steps to the gates."""
        import_module("plans.tools")
        import_module("plans.services.guard")
