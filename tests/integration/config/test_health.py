"""Does a deployment say whether it can work, and what is in the way?"""

import pytest
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from config import health


@pytest.mark.django_db
@pytest.mark.both
def test_it_is_ready_when_the_log_is_guarded(client):
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "in_the_way": []})


@pytest.mark.django_db
@pytest.mark.both
def test_a_log_without_its_triggers_is_in_the_way(client, tampering):
    with tampering():
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "in_the_way": ["triggers"]})


@pytest.mark.django_db
def test_a_migration_to_come_is_in_the_way(monkeypatch):
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda executor, targets: ["one"])
    assert health.obstacles() == ["migrations"]


def test_without_a_database_the_process_is_alive_but_not_ready(client, monkeypatch):
    def gone(*_args):
        raise OperationalError("no route")

    monkeypatch.setattr(connection, "cursor", gone)
    monkeypatch.setattr(health, "MigrationExecutor", gone)
    assert client.get("/healthz").content == b"ok\n"
    assert client.get("/readyz").json() == {"ready": False, "in_the_way": ["database"]}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_a_probe_beside_the_process_needs_no_tls(client, settings, path):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path).status_code == 200
    assert client.get("/login").status_code == 301
