"""How is the sandbox spoken to? Its routes over HTTP: `_control` for whoever stages it, the rest for the console."""

import hashlib
import json
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from config.sandbox import control
from config.sandbox.business import Answer, Ask, error, job, look, parts, write
from config.sandbox.callbacks import Teller
from config.sandbox.store import Store
from config.sandbox.tokens import Keys, KeysUnreachableError, Token, TokenRefusedError, verified

LARGEST = 64 * 1024


class RefusedError(Exception):
    """A request is answered before anything looks at what it wants."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.status)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """All that a request needs."""

    store: Store
    teller: Teller
    keys: Keys
    issuer: str
    audience: str
    stopping: threading.Event


class Server(ThreadingHTTPServer):
    """A thread for each request; none of them keeps the process from ending."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  (the base class's signature)
        """Say what broke by its class alone; who hung up is no fault."""
        kind = sys.exc_info()[0]
        if kind is not None and not issubclass(kind, OSError):
            print(f"a request failed: {kind.__name__}", file=sys.stderr, flush=True)  # noqa: T201  (a program)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 10
    server_version, sys_version = "sandbox/1", ""

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  (http.server's names)

    def _answer(self) -> None:
        self.close_connection = True
        try:
            body = self._body()
            answer = self._route(body)
        except RefusedError as refused:
            answer = refused.answer
        except Exception as fault:  # noqa: BLE001  (no input may end a connection without an answer)
            print(f"a request failed: {type(fault).__name__}", file=sys.stderr, flush=True)  # noqa: T201  (a program)
            answer = error(500, "fault")
        if answer.wait and self.server.sandbox.stopping.wait(answer.wait):
            return
        if not answer.dropped:
            self._send(answer)

    def _route(self, body: bytes) -> Answer:
        path, _, _query = self.path.partition("?")
        if path.startswith("/_control/"):
            return self._control(parts(path)[2:], body)
        token = self._token()
        match (self.command, *parts(path)):
            case ("GET", "", "jobs", number):
                known = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0  # noqa: PLR2004  (enough)
                return job(self.server.sandbox.store, known, self._ask(token, path))
            case ("GET", "", collection, id_):
                return look(self.server.sandbox.store, self._ask(token, path, collection, id_))
            case ("DELETE", "", collection, id_):
                return write(self.server.sandbox.store, self._ask(token, path, collection, id_, body=body))
            case ("POST", "", collection, id_, verb):
                return write(self.server.sandbox.store, self._ask(token, path, collection, id_, verb=verb, body=body))
        return error(404, "no-such-route")

    def _ask(
        self, token: Token, path: str, collection: str = "", id_: str = "", *, verb: str = "", body: bytes = b""
    ) -> Ask:
        return Ask(
            method=self.command,
            path=path,
            collection=collection,
            id=id_,
            verb=verb,
            key=self.headers.get("Idempotency-Key", "")[:255] if self.command != "GET" else "",
            if_match=self.headers.get("If-Match", ""),
            digest=hashlib.sha256(body).hexdigest(),
            token=token,
        )

    def _token(self) -> Token:
        sandbox, bearer = self.server.sandbox, self.headers.get("Authorization", "")
        try:
            return verified(bearer, keys=sandbox.keys, issuer=sandbox.issuer, audience=sandbox.audience)
        except KeysUnreachableError:
            raise RefusedError(error(503, "keys-unreachable", Retry_After="1")) from None
        except TokenRefusedError as refused:
            challenge = {"WWW_Authenticate": 'Bearer error="invalid_token"'} if refused.status == 401 else {}  # noqa: PLR2004  (HTTP)
            raise RefusedError(error(refused.status, "token-refused", refused.why, **challenge)) from None

    def _control(self, path: list[str], body: bytes) -> Answer:
        """Let whoever is on this machine stage what happens; a page in a browser is not let through."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in {"127.0.0.1", "localhost"} or self.headers.get("Origin"):
            return error(403, "not-from-here")
        told: Any = {}
        if body:
            try:
                told = json.loads(body)
            except (ValueError, RecursionError):
                return error(400, "no-json")
        if not isinstance(told, dict):
            return error(400, "no-object")
        return control.answer(self.server.sandbox.store, self.server.sandbox.teller, self.command, path, told)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding"):
            raise RefusedError(error(411, "length-needed"))
        length = self.headers.get("Content-Length", "0").strip()
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(error(400, "bad-length"))
        if len(length) > 9 or int(length) > LARGEST:  # noqa: PLR2004  (nobody sends a gigabyte)
            raise RefusedError(error(413, "too-large"))
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise RefusedError(error(400, "cut-off"))
        return body

    def _send(self, answer: Answer) -> None:
        content = json.dumps(answer.body).encode() if answer.body else b""
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if content:
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002  (as above)
        """Refuse what is no HTTP in the same shape as everything else."""
        self.close_connection = True
        self._send(error(int(code), "bad-request"))

    def log_message(self, *_: Any) -> None:
        """Say nothing: what a request held is nobody's business."""
