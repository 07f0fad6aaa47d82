"""What does Django know of this app?"""

from django.apps import AppConfig


class PlansConfig(AppConfig):
    """Plans that agents propose."""

    name = "plans"
