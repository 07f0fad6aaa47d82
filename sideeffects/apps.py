"""What does Django know of this app?"""

from django.apps import AppConfig


class SideeffectsConfig(AppConfig):
    """Side effects, compensation groups and their revocation."""

    name = "sideeffects"
