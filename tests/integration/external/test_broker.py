"""Does anything hang, or get lost, while the broker is frozen, and then gone?"""

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from sideeffects.models import Request
from tests import factories
from tests.external import clock, contact, registered
from tests.processes import ROOT, beside, database_url, tell
from tests.sandbox import until
from tests.servers import answers_ping, valkey_program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]
CELERY = [sys.executable, "-m", "celery", "--app", "config.celery"]
WORKER = [*CELERY, "worker", "--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle"]
BEAT = [*CELERY, "beat", "--scheduler", "celery.beat:Scheduler", "--pidfile=", "--schedule"]
# A web process of its own: each line is a group, each answer the status and how long it took.
WEB = """
import time
from django.contrib.auth import get_user_model
from django.test import Client
client = Client()
client.force_login(get_user_model().objects.get(username="alice"), "django.contrib.auth.backends.ModelBackend")
client.get("/api/v1/groups", headers={"host": "localhost"})
print("up", flush=True)
for line in sys.stdin:
    began = time.monotonic()
    address = f"/api/v1/groups/{line.strip()}/revoke"
    answer = client.post(address, "{}", "application/json", headers={"host": "localhost"})
    print(answer.status_code, time.monotonic() - began, flush=True)
"""


def broker(port, folder):
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([valkey_program(), *words], stdout=subprocess.DEVNULL)
    until(lambda: answers_ping(port))
    return process


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def ended():
    """Give a list of processes that are ended with the test, however it goes."""
    held: list[subprocess.Popen[Any]] = []
    yield held
    for process in held:
        process.send_signal(signal.SIGCONT)
        process.kill()
    for process in held:
        process.communicate()


def test_web_answers_and_everything_proceeds(fake, port, ended, monkeypatch, tmp_path):
    for name, value in (("BROKER", f"redis://127.0.0.1:{port}/0"), ("TARGET_HOSTS", fake.host)):
        monkeypatch.setenv(f"TAKEBACK_{name}", value)
    registered(fake.url, now=clock())
    by = factories.planner()
    groups = iter([contact(f"c_{number}", by=by).pk for number in range(6)])
    ended.append(broker(port, tmp_path))
    environment = os.environ | {"DATABASE_URL": database_url()}
    for command in (WORKER, [*BEAT, str(tmp_path / "beat")]):
        ended.append(subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL))
    web = beside(WEB)
    ended.append(web)
    assert web.stdout
    assert web.stdout.readline() == "up\n"

    def revoke():
        assert web.stdout
        tell(web, str(next(groups)))
        status, took = web.stdout.readline().split()
        assert status == "200"
        return float(took)

    def compensating():
        return Request.objects.filter(state="compensating").count()

    revoke()
    until(lambda: compensating() == 1, seconds=60)
    ended[0].send_signal(signal.SIGSTOP)
    took = [revoke(), revoke()]
    threading.Event().wait(12)
    took.append(revoke())
    ended[0].kill()
    ended[0].wait()
    took.append(revoke())
    assert max(took) < 3, took
    assert Request.objects.count() == 5
    ended.append(broker(port, tmp_path))
    until(lambda: compensating() == 5, seconds=120)
    revoke()
    until(lambda: compensating() == 6, seconds=60)
    assert len(fake.seen) == 6
