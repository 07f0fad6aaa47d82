"""Does doctor find what needs a person, and say only what it knows?"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.signals import before_task_publish
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import override_settings

from audit import log, triggers
from config import checks, fivequestions, metrics, tasks
from config.celery import app
from config.checks import State
from config.forms import DEMO_MAIL
from sideeffects.models import AgentToken, Batch, Group, Heartbeat, Request
from sideeffects.services.record import Status
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from tests import batches, external, factories
from tests.factories import NOW, person, user

pytestmark = pytest.mark.django_db


def state_of(name: str, *, now: Any = NOW) -> tuple[State, str]:
    """Return what doctor says of one question."""
    found = {finding.check: finding for finding in checks.examine(now=now)}
    return found[name].state, found[name].detail


@pytest.mark.both
def test_a_well_deployment_needs_nobody():
    person("admin")
    Heartbeat.objects.create(name="beat", at=NOW)
    Heartbeat.objects.create(name="worker", at=NOW)
    found = checks.examine(now=NOW)
    assert [finding.check for finding in found if finding.state is State.NEEDS_A_PERSON] == []
    assert {"database", "migrations", "log triggers", "broker", "beat", "worker"} <= {
        finding.check for finding in found
    }


@pytest.mark.parametrize("name", ["beat", "worker"])
def test_a_heart_that_was_never_seen_is_unknown_and_one_that_fell_silent_needs_a_person(name: str):
    assert state_of(name)[0] is State.UNKNOWN
    Heartbeat.objects.create(name=name, at=NOW)
    assert state_of(name, now=NOW + timedelta(minutes=1))[0] is State.OK
    state, detail = state_of(name, now=NOW + timedelta(hours=3))
    assert state is State.NEEDS_A_PERSON
    assert "3 h" in detail


def test_a_batch_that_does_not_move_needs_a_person_and_a_stopped_one_nobody():
    group = factories.project(factories.planner("alice"), tasks=1)
    assert state_of("batches") == (State.OK, "0 at work, 0 stopped")
    row = batches.started(group)
    assert state_of("batches", now=row.state_at + timedelta(minutes=4)) == (State.OK, "1 at work, 0 stopped")
    state, detail = state_of("batches", now=row.state_at + timedelta(minutes=6))
    assert (state, "not moved for 6 min" in detail) == (State.NEEDS_A_PERSON, True)
    assert 'takeback_batches{state="working"} 1' in metrics.lines()
    Batch.objects.update(state="stopped")
    assert state_of("batches", now=row.state_at + timedelta(days=1)) == (State.OK, "0 at work, 1 stopped")
    assert {'takeback_batches{state="stopped"} 1', "takeback_batch_still_seconds 0"} <= set(metrics.lines())


@pytest.fixture
def _in_the_tests_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the connection open that the test's transaction is on."""
    monkeypatch.setattr(tasks, "close_old_connections", lambda: None)


@pytest.mark.usefixtures("_in_the_tests_transaction")
def test_a_worker_stamps_itself_and_beat_when_it_sends():
    tasks.heartbeat()
    assert list(Heartbeat.objects.values_list("name", flat=True)) == ["worker"]
    entry = app.conf.beat_schedule["show that beat and worker live"]
    assert entry["task"] == tasks.TASK
    tasks.beat_sends()
    assert set(Heartbeat.objects.values_list("name", flat=True)) == {"beat", "worker"}


@pytest.mark.usefixtures("_in_the_tests_transaction")
def test_sending_the_heartbeat_is_what_stamps_beat():
    before_task_publish.send(sender="audit.seal", body=None)
    assert not Heartbeat.objects.exists()
    before_task_publish.send(sender=tasks.TASK, body=None)
    assert Heartbeat.objects.filter(name="beat").exists()


def test_a_missing_trigger_is_named():
    triggers.remove(connection)
    try:
        state, detail = state_of("log triggers")
    finally:
        triggers.install(connection)
    assert state is State.NEEDS_A_PERSON
    assert "audit_record" in detail


def test_records_that_stay_unsealed_need_a_person():
    person("admin")
    factories.project(factories.planner())
    assert state_of("unsealed")[0] is State.OK
    state, detail = state_of("unsealed", now=NOW + timedelta(minutes=10))
    assert state is State.NEEDS_A_PERSON
    assert "the oldest for 10 min" in detail
    log.seal()
    assert state_of("unsealed", now=NOW + timedelta(minutes=10))[0] is State.OK


def test_a_call_in_flight_for_too_long_needs_a_person():
    planner = factories.planner()
    factories.crm(planner)
    factories.report(planner, [], status=Status.IN_FLIGHT)
    assert Group.objects.get().state == "open"
    assert state_of("open calls")[0] is State.OK
    state, detail = state_of("open calls", now=NOW + timedelta(hours=2))
    assert state is State.NEEDS_A_PERSON
    assert "crm.create_contact" in detail


def test_a_tool_is_unproven_until_it_was_seen_to_work():
    assert "project.create" in state_of("tools")[1]
    group = factories.project(factories.planner())
    revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    assert "project.create" not in state_of("tools")[1]


def test_nobody_admin_needs_a_person():
    assert state_of("admins")[0] is State.NEEDS_A_PERSON
    admin = person("admin").user
    assert state_of("admins")[0] is State.OK
    admin.is_active = False
    admin.save()
    assert state_of("admins")[0] is State.NEEDS_A_PERSON


def test_a_token_that_ends_soon_needs_a_person_and_one_that_has_ended_does_not():
    token = factories.token()
    for days, expected in ((30, State.OK), (3, State.NEEDS_A_PERSON), (-3, State.OK)):
        AgentToken.objects.filter(pk=token.pk).update(expires_at=NOW + timedelta(days=days))
        assert state_of("tokens")[0] is expected


def test_made_up_people_among_real_ones_need_a_person():
    alice = user("alice")
    alice.email = f"alice{DEMO_MAIL}"
    alice.save()
    assert state_of("demo")[0] is State.NEEDS_A_PERSON
    with override_settings(DEMO=True, ALLOWED_HOSTS=["localhost"]):
        assert state_of("demo")[0] is State.OK
    with override_settings(DEMO=True, ALLOWED_HOSTS=["localhost", "takeback.example"]):
        assert state_of("demo")[0] is State.NEEDS_A_PERSON


def test_a_key_that_others_can_read_needs_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TAKEBACK_SECRET_KEY")
    with override_settings(DATA_DIR=tmp_path):
        assert state_of("keys")[0] is State.UNKNOWN
        (tmp_path / "keys").mkdir()
        kept = tmp_path / "keys" / "secret_key"
        kept.touch(mode=0o600)
        assert state_of("keys")[0] is State.OK
        kept.chmod(0o644)
        assert state_of("keys")[0] is State.NEEDS_A_PERSON


def test_a_broker_that_is_away_needs_a_person_and_its_password_is_not_printed(monkeypatch: pytest.MonkeyPatch):
    connect = app.connection_for_write
    monkeypatch.setattr(app, "connection_for_write", lambda: connect("redis://:sekrit@127.0.0.1:1/0"))
    state, detail = state_of("broker")
    assert state is State.NEEDS_A_PERSON
    assert "sekrit" not in detail


def test_without_a_database_the_rest_is_unknown_and_never_well(monkeypatch: pytest.MonkeyPatch):
    def away(*_args: Any, **_kwargs: Any) -> None:
        raise OperationalError("password=sekrit")

    monkeypatch.setattr(connection, "cursor", away)
    found = {finding.check: finding for finding in checks.examine(now=NOW)}
    assert found["database"].state is State.NEEDS_A_PERSON
    for name in ("migrations", "beat", "worker", "open calls", "tokens", "admins", "demo", "unsealed"):
        assert found[name].state is State.UNKNOWN
    assert "sekrit" not in str(found)


def test_the_command_exits_with_1_only_if_somebody_is_needed(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        call_command("doctor", "--json")
    assert left.value.code == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["needs_a_person"] == 2, "the check of admins, and the question who may take back"
    assert [item["state"] for item in printed["questions"]] == ["ok", "unknown", "ok", "needs a person", "unknown"]
    assert {"check": "admins", "state": "needs a person"}.items() <= next(
        item for item in printed["checks"] if item["check"] == "admins"
    ).items()
    person("admin")
    call_command("doctor")
    assert "needs a person" not in capsys.readouterr().out


def answer(word: str, *, now: Any = NOW) -> tuple[State, str]:
    """Return what doctor answers to one of the five questions."""
    [found] = [item for item in fivequestions.answers(now=now) if word in item.check]
    return found.state, found.detail


def test_the_five_questions_are_answered_by_what_is_there_and_what_it_came_to(settings: Any):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    admin, alice = person("admin"), person("alice")
    factories.crm(factories.planner())
    state, said = answer("entry point")
    assert state is State.NEEDS_A_PERSON
    assert "crm.create_contact (No: no admin has registered crm.example)" in said
    external.registered("http://127.0.0.1:9")
    assert answer("entry point")[0] is State.OK
    settings.TARGET_HOSTS = frozenset()  # as beside a running `up`, whose own sandbox only it may call
    state, said = answer("entry point")
    assert (state, "promised and not there" in said) == (State.UNKNOWN, False)
    assert "by the settings of this command the hosts of these may not be called: crm.create_contact; a server" in said
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    group = factories.project(factories.planner())
    assert "0 of" in answer("take effect")[1]
    revoke(groups=[group.pk], by=alice, now=NOW, reason="", trigger=Trigger.CLICK)
    state, said = answer("take effect")
    assert state is State.UNKNOWN
    assert said.startswith("1 of")
    assert "unproven: crm.create_contact" in said
    request = external.asked(external.contact())
    assert "unresolved now: 1, the oldest for 3 h" in answer("How far", now=NOW + timedelta(hours=3))[1]
    Request.objects.filter(pk=request.pk).update(state="refused")
    state, said = answer("take effect")
    assert state is State.NEEDS_A_PERSON
    assert "last failed: crm.example.create_contact" in said
    assert answer("Who may")[0] is State.OK
    assert admin.is_admin
    assert answer("proven afterwards")[0] is State.UNKNOWN
