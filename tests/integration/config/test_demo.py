"""Is the demonstration told once, and entered anew at each start?"""

import pytest
from django.contrib.auth import get_user_model

from audit import log
from config import demo, demo_batch, demo_execution
from plans import outlook
from plans.models import Execution
from sideeffects.models import Batch, Effect, Group
from sideeffects.services import tokens
from sideeffects.transitions import EffectState
from tests import factories
from tests.factories import NOW, later

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def test_the_story_is_told_once():
    demo.seed(now=NOW)
    told = set(Group.objects.values_list("pk", "state"))
    demo.seed(now=later(hours=1))
    assert set(Group.objects.values_list("pk", "state")) == told
    assert Effect.objects.filter(state=EffectState.REVOKED).count() == 1 + len(demo_batch.MINUTES)
    assert Batch.objects.values_list("state", "groups").get() == ("finished", 1 + len(demo_batch.MINUTES))
    assert Group.objects.get(tool="project.create").effects.count() == 11


def test_passwords_and_token_of_an_earlier_start_open_nothing():
    first, second = demo.seed(now=NOW), demo.seed(now=later(hours=1))
    for name, password in second.passwords.items():
        person = get_user_model().objects.get(username=name)
        assert person.check_password(password)
        assert not person.check_password(first.passwords[name])
    assert tokens.authenticate(secret=first.token, now=later(hours=1)) is None
    assert tokens.authenticate(secret=second.token, now=later(hours=1)) is not None


def test_the_log_of_the_demonstration_has_nothing_unsealed():
    demo.seed(now=NOW)
    assert log.seal() > 0
    assert log.seal() == 0


class Still:
    """A stage on which nothing is put."""

    url = ""

    def stage(self, method: str, path: str, told: dict[str, object]) -> None:
        """Do nothing."""


def test_an_execution_is_under_way_and_its_window_about_to_close():
    token = factories.token()
    for minutes in (0, 5):
        demo_execution.tell(token, Still(), now=later(minutes=minutes))
    [view] = outlook.of(Execution.objects.all(), by=factories.person("alice"), now=NOW)
    assert view.standing == "waiting for a person"
    assert view.perishing_since is not None
    assert view.unrecoverable_since is None
    demo_execution.tell(token, Still(), now=later(hours=1))
    assert Execution.objects.count() == 2
