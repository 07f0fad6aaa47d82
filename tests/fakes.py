"""How do tests stand in for a target that does what no honest one would? A server whose every answer a test decides."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Decide = Callable[[Seen], tuple[int, dict[str, str], bytes] | None]


@dataclass
class Fake:
    """A running server: `decide` gives status, headers and body, or None to break the connection off."""

    decide: Decide
    seen: list[Seen] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(decide: Decide) -> Iterator[Fake]:
    """Run a fake target on loopback for as long as the block lasts."""
    fake = Fake(decide)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle_one_request()

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            one = Seen(self.command, self.path, dict(self.headers), self.rfile.read(length))
            fake.seen.append(one)
            answered = fake.decide(one)
            self.close_connection = True
            if answered is None:
                return
            status, headers, body = answered
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer  # noqa: N815  (http.server's names)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
