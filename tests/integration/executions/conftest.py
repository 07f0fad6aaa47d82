"""What do these tests borrow? Processes that do things at the same moment."""

from tests.integration.sideeffects.conftest import crews, four

__all__ = ["crews", "four"]
