"""What do the tests of parallel work share? Processes beside this one, as starting them takes longest."""

import pytest

from tests.crew import Crew


@pytest.fixture(scope="session")
def crews(django_db_setup):
    """Give the processes that are up."""
    running: list[Crew] = []
    yield running
    for one in running:
        one.close()


@pytest.fixture
def four(crews):
    """Give four processes; new ones where a test that failed has left them in the middle of something."""
    if crews and crews[0].owed:
        crews.pop().close()
    if not crews:
        crews.append(Crew(4))
    return crews[0]
