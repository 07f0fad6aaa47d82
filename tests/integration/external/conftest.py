"""What do these tests share? A fake target whose host is excepted."""

import pytest

from tests.fakes import serving


@pytest.fixture
def fake(settings):
    """Give a target that accepts everything until a test decides otherwise."""
    with serving(lambda _seen: (202, {}, b"")) as running:
        settings.TARGET_HOSTS = frozenset({running.host})
        settings.TARGET_SECONDS = 1
        yield running
