"""Whatever happens in any order, by whomever: is every claim true, every change on the log, every restore exact?"""

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck
from hypothesis.stateful import run_state_machine_as_test

from tests.machine import AnyOrder
from tests.watched import TARGET

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_target_that_may_be_registered(settings):
    settings.TARGET_HOSTS = frozenset({TARGET})


def test_a_few_orders():
    run(max_examples=6, stateful_step_count=12, derandomize=True, database=None)


@pytest.mark.soak
def test_hundreds_of_orders():
    run(max_examples=400, stateful_step_count=50)


def run(**how):
    calm: Any = {"deadline": None, "suppress_health_check": list(HealthCheck)}
    run_state_machine_as_test(AnyOrder, settings=hypothesis.settings(**calm, **how))
