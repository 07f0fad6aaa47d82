"""How do tests run the sandbox and speak to it? As a process of its own, on a free port, over real HTTP."""

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from tests.fakes import Seen

ROOT = Path(__file__).resolve().parent.parent
ISSUER, AUDIENCE = "http://127.0.0.1:8000", "https://crm.example"
SECRET = "whsec_" + "YS1zZWNyZXQtb2YtdGhlLWNvbnRyYWN0LXN1aXRl"
KID = "the-key"


@dataclass(frozen=True)
class Came:
    """What was answered; status 0 where the connection closed without an answer."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Running:
    """A running sandbox."""

    process: "subprocess.Popen[str]"
    port: int

    @property
    def host(self) -> str:
        """Return what a console's environment has to except."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://{self.host}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Came:
        """Make one request; `_` in a header's name stands for `-`."""
        content = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        link = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            link.request(method, path, content, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = link.getresponse()
            text = answer.read()
            return Came(answer.status, dict(answer.headers), json.loads(text) if text else None)
        except OSError:
            return Came(0, {}, None)
        finally:
            link.close()

    def create(self, id_: str, *, collection: str = "contacts", owner: str = "alice", **more: Any) -> None:
        """Have an object there."""
        came = self.ask("POST", "/_control/objects", {"collection": collection, "id": id_, "owner": owner, **more})
        assert came.status in {200, 201}, came

    def tell(self, id_: str, do: str, *, collection: str = "contacts", **more: Any) -> None:
        """Tell what to do about an object from now on."""
        came = self.ask("PUT", f"/_control/objects/{collection}/{quote(id_, safe='')}/behaviour", {"do": do, **more})
        assert came.status == 200, came

    def seen(self, id_: str, *, collection: str = "contacts") -> Any:
        """Return whether an object is there, how often it was undone, and every request about it."""
        return self.ask("GET", f"/_control/objects/{collection}/{quote(id_, safe='')}").body

    def all(self) -> dict[str, Any]:
        """Return for every object's id whether it is there, how often it was undone, and by how many keys asked."""
        return {one["id"]: one for one in self.ask("GET", "/_control/objects").body["objects"]}

    def settle(self) -> None:
        """Have all accepted work done now."""
        assert self.ask("POST", "/_control/settle", {}).status == 200

    def leave_alone(self) -> None:
        """End its standard input, as the end of whoever started it does."""
        assert self.process.stdin
        self.process.stdin.close()

    def forget(self) -> None:
        """Have nothing left of an earlier test."""
        assert self.ask("POST", "/_control/reset", {}).status == 200

    def writes(self, id_: str) -> list[Any]:
        """Return the requests to do something about an object, each key at a time they came."""
        return [seen for seen in self.seen(id_)["requests"] if seen["method"] != "GET"]

    def was_written(self, id_: str) -> bool:
        """Say whether something was asked to be done about an object."""
        return bool(self.writes(id_))

    def call_back(self, request: object, status: str, **more: Any) -> list[int]:
        """Have a callback sent now, and return what the console answered."""
        came = self.ask("POST", "/_control/callbacks", {"request": str(request), "status": status, **more})
        assert came.status == 200, came
        return list(came.body["statuses"])


@contextlib.contextmanager
def running(jwks: str, *, issuer: str = ISSUER, audience: str = AUDIENCE, **options: Any) -> Iterator[Running]:
    """Run a sandbox for as long as the block lasts; options as on its command line."""
    named = {"jwks": jwks, "issuer": issuer, "audience": audience, **options}
    words = [word for name, value in named.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "config.sandbox", *words, "--watch-stdin"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("ready "), line
        try:
            yield Running(process, int(line.rpartition(":")[2]))
        finally:
            process.kill()


def jwk(key: ec.EllipticCurvePrivateKey, kid: str) -> dict[str, Any]:
    """Return the public half as a console publishes it."""
    return {**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": kid, "alg": "ES256"}


def webhook_id(seen: Seen) -> str:
    """Return the id of a callback as it came in."""
    return {name.lower(): value for name, value in seen.headers.items()}["webhook-id"]


def until(true: Callable[[], bool], *, seconds: float = 20) -> None:
    """Wait until something is true that another process brings about."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not true():
        assert time.monotonic() < end, "it did not come true"
        pause.wait(0.02)
