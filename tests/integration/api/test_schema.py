"""Does the API keep what its schema says, whatever is sent? Generated requests, real objects."""

from tests.described import bounded, described, hold

FEW = 5
SCHEMA = described(every_edge=False)


@SCHEMA.parametrize()
@bounded(FEW, alike=True)  # what runs on every change must not fail by luck
def test_an_agent_is_answered_as_described(case, world):
    hold(case, world, world.agent())


@SCHEMA.parametrize()
@bounded(FEW, alike=True)  # what runs on every change must not fail by luck
def test_an_admin_is_answered_as_described(case, world):
    hold(case, world, world.admin)
