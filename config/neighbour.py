"""Which other system does the demonstration speak to? The sandbox, as a child process that never outlives this one."""

import base64
import json
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.crypto import salted_hmac

AUDIENCE = "https://crm.example"
SETTLES_AFTER = 5  # seconds: long enough to be seen on the way
PATIENCE = 20.0


class NeighbourSilentError(Exception):
    """The sandbox did not come up."""


class Neighbour:
    """A sandbox that is starting or running; it stops when its standard input ends, however this process ends."""

    def __init__(self, *, console: str, target: str, folder: Path) -> None:
        options = {
            "--jwks": f"{console}/.well-known/jwks.json",
            "--issuer": settings.PUBLIC_URL,
            "--audience": AUDIENCE,
            "--callback": f"{console}/api/v1/callbacks/{target}",
            "--secret": "-",
            "--settle-after": str(SETTLES_AFTER),
            "--state": str(folder / "sandbox.json"),
        }
        command = [sys.executable, "-m", "config.sandbox", "--watch-stdin"]
        self._process = subprocess.Popen(  # noqa: S603  (its own interpreter and module)
            [*command, *(word for pair in options.items() for word in pair)],
            cwd=settings.BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin
        self._process.stdin.write(f"{secret()}\n")  # not on its command line, which everybody can read
        self._process.stdin.flush()
        self.url = ""

    def wait(self) -> None:
        """Wait until it can be spoken to; raises NeighbourSilentError."""
        assert self._process.stdout
        patience = threading.Timer(PATIENCE, self._process.kill)
        patience.start()
        line = self._process.stdout.readline()
        patience.cancel()
        if not line.startswith("ready "):
            raise NeighbourSilentError("The sandbox of the demonstration did not start.")
        self.url = line.split()[1]

    @property
    def host(self) -> str:
        """Return its exact host and port."""
        return urlsplit(self.url).netloc

    def stage(self, method: str, path: str, told: dict[str, Any]) -> None:
        """Have something there, or something done, at its control address."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310  (its own address on this machine)
            f"{self.url}/_control/{path}", json.dumps(told).encode(), headers, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(request, timeout=PATIENCE).close()

    def stop(self) -> None:
        """Let it go, and wait for it a little."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()


def secret() -> str:
    """Return what its callbacks are signed with: the same at every start, and nowhere else."""
    key = salted_hmac("config.neighbour", "callbacks of the sandbox", algorithm="sha256").digest()
    return f"whsec_{base64.b64encode(key).decode()}"
