"""Do the servers of a test run go when it goes, however it ends?"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import servers

ROOT = Path(__file__).resolve().parents[3]
PARENT = (
    "import signal, subprocess, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job inherits it ignored
    "held = subprocess.Popen([sys.executable, '-m', 'tests.servers'], stdin=subprocess.PIPE, start_new_session=True)\n"
    "held.wait()\n"
)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_servers_go_with_the_run(how):
    named = {name: value for name, value in os.environ.items() if name != "TEST_REDIS_URL"}
    named["TEST_DATABASE_URL"] = "postgres://is/named"
    run = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, env=named, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout
    held = json.loads(run.stdout.readline())
    port = int(held["broker"].rpartition(":")[2].split("/")[0])
    assert held["database"] == "postgres://is/named"
    assert servers.answers_ping(port)
    run.send_signal(how)
    run.wait(60)
    run.stdout.close()
    deadline = time.monotonic() + 60
    while Path(held["folder"]).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not servers.answers_ping(port)
