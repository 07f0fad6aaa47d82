"""How is a target called? Checked and pinned addresses, no redirect followed, no proxy of the environment, all capped.

The address is checked again at the moment of connecting, so a name that leads elsewhere by now is refused then.
"""

import contextlib
import functools
import json
import socket
import ssl
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2

from sideeffects.targets.addresses import HostRefusedError, HostUnknownError, resolved
from sideeffects.targets.answers import Kind

LARGEST = 64 * 1024  # bytes of an answer that are read
CONNECT_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class Call:
    """One HTTP call, ready to go: `seconds` is all it may take, from looking the name up to the last byte."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = b""
    seconds: float = 10.0
    allowed: Collection[str] = ()


@dataclass(frozen=True, kw_only=True)
class Came:
    """What came back of a call; `why` says what kept it from leaving, or from an answer."""

    kind: Kind
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    cut: bool = False
    why: str = ""

    def json(self) -> Any:
        """Return what the body says as JSON, or None."""
        try:
            return json.loads(self.content) if self.content and not self.cut else None
        except (ValueError, RecursionError):
            return None


class _Stream(httpcore2.NetworkStream):
    """A connection on which no single wait outlives the whole call's deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: float) -> None:
        self._inner, self._deadline = inner, deadline

    def _left(self, timeout: float | None) -> float:
        left = max(self._deadline - time.monotonic(), 0.001)
        return left if timeout is None else min(left, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.monotonic() >= self._deadline:
            raise httpcore2.ReadTimeout
        return self._inner.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._left(timeout)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore2.NetworkBackend):
    """Connects to addresses that were checked, and to nothing else."""

    def __init__(self, call: Call, deadline: float) -> None:
        self._allowed, self._deadline, self._sockets = call.allowed, deadline, httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failed: Exception = HostUnknownError(host)
        for address in resolved(host, port, allowed=self._allowed):
            left = min(timeout or CONNECT_SECONDS, max(self._deadline - time.monotonic(), 0.001))
            try:
                stream = self._sockets.connect_tcp(address, port, left, local_address, socket_options)
                return _Stream(stream, self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed


_one = threading.Lock()


def _tls() -> ssl.SSLContext:
    with _one:  # many threads begin at once, and reading the authorities takes 50 ms
        return _default_tls()


@functools.cache
def _default_tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class _Transport(httpx2.HTTPTransport):
    """httpx2's own transport over a pool that connects by `_Backend`; one connection a call, never kept."""

    def __init__(self, backend: _Backend) -> None:
        super().__init__(verify=_tls(), trust_env=False)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(ssl_context=_tls(), max_connections=1, network_backend=backend)


def call(what: Call) -> Came:
    """Make one call and return what came of it; raises nothing that a target could cause."""
    deadline = time.monotonic() + what.seconds
    timeout = httpx2.Timeout(what.seconds, connect=min(CONNECT_SECONDS, what.seconds))
    transport = _Transport(_Backend(what, deadline))
    headers = {"Connection": "close", "Accept-Encoding": "identity", "User-Agent": "takeback/1", **what.headers}
    try:
        with (
            httpx2.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=timeout) as client,
            client.stream(what.method, what.url, content=what.content or None, headers=headers) as response,
        ):
            return _read(response)
    except (HostRefusedError, HostUnknownError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        return Came(kind=Kind.NOT_LEFT, why=_sentence(error))
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.LocalProtocolError) as error:
        return Came(kind=Kind.NOT_LEFT, why=f"no connection to {urlsplit(what.url).hostname} ({_cause(error)})")
    except httpx2.TimeoutException:
        return Came(kind=Kind.NO_ANSWER, why=f"no answer within {what.seconds:g} s")
    except httpx2.TransportError as error:
        return Came(kind=Kind.NO_ANSWER, why=f"the connection broke ({type(error).__name__})")


def _read(response: httpx2.Response) -> Came:
    """Read an answer up to the cap; one that breaks off in its body has answered all the same."""
    content, cut = bytearray(), False
    with contextlib.suppress(httpx2.TransportError):
        for part in response.iter_raw():
            content += part
            if len(content) > LARGEST:
                cut = True
                break
        else:
            return _came(response, bytes(content), cut=False)
        return _came(response, bytes(content[:LARGEST]), cut=cut)
    return _came(response, bytes(content[:LARGEST]), cut=True)


def _came(response: httpx2.Response, content: bytes, *, cut: bool) -> Came:
    headers = {name: response.headers[name] for name in ("date", "location", "retry-after") if name in response.headers}
    return Came(kind=Kind.ANSWERED, status=response.status_code, headers=headers, content=content, cut=cut)


def _sentence(error: Exception) -> str:
    return (
        str(error).rstrip(".") if isinstance(error, HostRefusedError | HostUnknownError) else "its address is unusable"
    )


def _cause(error: BaseException) -> str:
    """Return what kept a connection from being made, by its class alone: texts may hold anything."""
    known = {ConnectionRefusedError: "refused", socket.gaierror: "name unknown", ssl.SSLError: "TLS failed"}
    link: BaseException | None = error
    while link is not None:
        for kind, words in known.items():
            if isinstance(link, kind):
                return words
        link = link.__cause__ or link.__context__
    return "timed out" if isinstance(error, httpx2.TimeoutException) else "failed"
