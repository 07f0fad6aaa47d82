"""What does Django know of this app?"""

from importlib import import_module

from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """Projects, tasks and notes that agents may write."""

    name = "sideeffects.workspace"
    label = "workspace"

    def ready(self) -> None:
        """Register the adapters and the tools."""
        import_module("sideeffects.workspace.adapters")
        import_module("sideeffects.workspace.tools")
