"""Does the background work run apart from the web process, over a real broker?"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from audit.models import Unsealed
from config.celery import app
from sideeffects.models import Batch, BatchItem
from sideeffects.transitions import Outcome
from tests import batches, factories

ROOT = Path(__file__).resolve().parents[3]
CELERY = ["-m", "celery", "--app", "config.celery"]
WORKER = [*CELERY, "worker", "--pool", "threads", "--concurrency", "1", "--without-gossip", "--without-mingle"]
BEAT = [*CELERY, "beat", "--scheduler", "celery.beat:Scheduler", "--pidfile="]


@contextmanager
def running(*commands: list[str]) -> Iterator[None]:
    """Run programs beside the test, on its database and its broker, with nothing queued before."""
    app.control.purge()
    url = os.environ["DATABASE_URL"].rpartition("/")[0] + "/" + connection.settings_dict["NAME"]
    held = [
        subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, stderr=subprocess.PIPE
        )
        for command in commands
    ]
    try:
        yield
    finally:
        for process in held:
            process.terminate()
        for process in held:
            process.communicate(timeout=20)


def within(seconds: float, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.django_db(transaction=True)
def test_a_commit_wakes_a_worker_of_its_own_over_the_broker():
    assert settings.CELERY_BROKER_URL.startswith("redis://")
    with running(WORKER):
        group = factories.project(factories.planner("alice"), tasks=1)
        assert Unsealed.objects.exists()
        assert within(30, lambda: not Unsealed.objects.exists())
        row = batches.started(group)
        assert within(30, lambda: Batch.objects.get(pk=row.pk).state == Batch.State.FINISHED)
    assert BatchItem.objects.get(batch=row).outcome == Outcome.REVOKED


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_beat_finds_what_no_wake_up_told_of(monkeypatch):
    monkeypatch.setattr("audit.wake._send", lambda task: None)
    with running(WORKER, BEAT):
        row = batches.started(factories.project(factories.planner("alice"), tasks=1))
        assert within(60, lambda: not Unsealed.objects.exists())
        assert within(60, lambda: Batch.objects.get(pk=row.pk).state == Batch.State.FINISHED)
