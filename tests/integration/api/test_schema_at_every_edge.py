"""Does the API keep what its schema says at each bound of each member? The long form of `test_schema`."""

import pytest

from tests.described import bounded, described, hold

pytestmark = pytest.mark.soak
MANY = 60
SCHEMA = described(every_edge=True)


@SCHEMA.parametrize()
@bounded(MANY, alike=False)
def test_an_agent_is_answered_as_described_at_every_edge(case, world):
    hold(case, world, world.agent())


@SCHEMA.parametrize()
@bounded(MANY, alike=False)
def test_an_admin_is_answered_as_described_at_every_edge(case, world):
    hold(case, world, world.admin)
