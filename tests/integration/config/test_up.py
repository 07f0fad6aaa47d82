"""Does `up` come up, say where it is, do its background work, and stop when told?"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox import until

ROOT = Path(__file__).resolve().parents[3]
OF_THE_TESTS = ("DATABASE_URL", "TAKEBACK_", "DJANGO_ALLOW", "PYTEST_")
PATIENCE = 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator["tuple[subprocess.Popen[str], str, list[str]]"]:
    """Run `up` as a person would; give the process, its address and the lines it printed."""
    port = free_port()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_TESTS)}
    command = [sys.executable, "manage.py", "up", "--port", str(port), f"--data={folder}", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        try:
            assert up.stdout
            lines = [up.stdout.readline()]
            while not lines[-1].startswith(("Token of", "There is no admin")):
                assert lines[-1], up.communicate()
                lines.append(up.stdout.readline())
            yield up, f"http://127.0.0.1:{port}", lines
        finally:
            up.kill()


def get(address: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.status, answer.read().decode()


def stopped(up: "subprocess.Popen[str]", how: signal.Signals) -> bool:
    """Ask it to stop; say whether it did, in the five seconds that it has."""
    up.send_signal(how)
    return up.wait(5) == 0


def test_up_serves_the_demonstration_whose_target_undoes_what_is_asked(tmp_path):
    """And it stops when told, or is killed: then its target goes with it, and comes back as it was."""
    folder = tmp_path / "data"
    with running(folder) as (up, address, lines):
        assert get(f"{address}/healthz") == (200, "ok\n")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert json.loads(get(f"{address}/readyz")[1]) == {"ready": True, "in_the_way": []}
        assert address in lines[0]
        assert [line.split()[0] for line in lines if re.match(r"  \w+ +\S{12}\n", line)] == [
            "alice",
            "bob",
            "admin",
            "auditor",
        ]
        assert "Enter as alice" in get(f"{address}/enter")[1]
        asked = Agent(address, lines)
        standing = asked.group_of("c-2051")
        answer = asked.post(f"{standing['url']}/revoke", {"reason": "a test"})
        assert answer["counts"] == {"not sent": 1}
        until(lambda: asked.get(standing["url"])["counts"] == {"compensated": 1}, seconds=PATIENCE)
        unresolved = asked.get("/api/v1/unresolved")
        assert sum(one["ages"]["older"] for one in unresolved["causes"]) == 1, unresolved
        assert unresolved["total"] == 2, unresolved
        assert len(asked.get("/api/v1/groups?conversation=demo:+customers+and+issues")["results"]) == 4
        target = asked.target()
        port = int(target.rpartition(":")[2])
        assert not is_free(port)
        up.kill()
        until(partial(is_free, port), seconds=5)
    with running(folder) as (up, address, lines):
        assert Agent(address, lines).target() == target
        assert Agent(address, lines).get("/api/v1/unresolved")["total"] == unresolved["total"]
        assert stopped(up, signal.SIGTERM)


class Agent:
    """Speaks to the API with the token that `up` printed."""

    def __init__(self, address: str, lines: list[str]) -> None:
        self.address, self.headers = address, {"Authorization": f"Bearer {lines[-1].split()[-1]}"}

    def get(self, path: str) -> Any:
        return json.loads(get(f"{self.address}{path}", **self.headers)[1])

    def post(self, path: str, body: Any) -> Any:
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def target(self) -> str:
        [target] = [one for one in self.get("/api/v1/targets")["results"] if one["base_url"]]
        return str(target["base_url"])

    def group_of(self, id_: str) -> Any:
        [effect] = self.get(f"/api/v1/effects?id={id_}")["results"]
        return self.get(f"/api/v1/groups/{effect['group']}")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_without_demo_nobody_is_made_up_and_the_first_admin_is_explained(tmp_path):
    with running(tmp_path, "--no-demo") as (up, address, lines):
        assert "createsuperuser" in lines[-1]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(f"{address}/enter")
        assert stopped(up, signal.SIGINT)


def test_a_taken_port_is_said_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        done = up_to_its_end(tmp_path, "--port", str(holder.getsockname()[1]))
    assert done.returncode == 1
    assert "Choose another: --port N" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_demonstration_is_for_this_machine_only(tmp_path):
    done = up_to_its_end(tmp_path, "--host", "0.0.0.0")
    assert done.returncode == 1
    assert "only on 127.0.0.1" in done.stderr


def up_to_its_end(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_TESTS)}
    command = [sys.executable, "manage.py", "up", "--data", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=PATIENCE, check=False)
