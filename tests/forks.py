"""How does a process come to be beside a test at once? Forks of one interpreter in which Django is set up already.

That interpreter answers each request on its socket with a pair of processes: one that runs the code, and its parent,
which tells the test the number of the first at once and how it ended when it did.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
PIPES = 3  # handed over with each request: what the code reads, what it writes, and where its end is told
LENGTH = 4  # bytes before each request that say how long it is


class Fork:
    """A process beside this one, of the same face as subprocess.Popen as far as tests need it."""

    def __init__(self, code: str, arguments: list[str], *, database: str) -> None:
        reads, to = os.pipe()
        from_, writes = os.pipe()
        told, tells = os.pipe()
        environment = {**os.environ, "DATABASE_URL": database}
        request = json.dumps({"code": code, "arguments": arguments, "environment": environment}).encode()
        server = _server(database)
        socket.send_fds(server, [len(request).to_bytes(LENGTH)], [reads, writes, tells])
        server.sendall(request)
        for descriptor in (reads, writes, tells):
            os.close(descriptor)
        self.stdin, self.stdout = os.fdopen(to, "w"), os.fdopen(from_)
        self._told = os.fdopen(told)
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended: its exit code, or the negative number of a signal; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return how it came; raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a process beside the test", timeout or 0)
            with self._told:
                self.returncode = int(self._told.readline())
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Give it nothing more to read, and return what it printed until its end; past the timeout it is killed."""
        late = threading.Timer(timeout, self.kill) if timeout else None
        if late:
            late.start()
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        with self.stdout:
            said = self.stdout.read()
        self.wait()
        if late:
            late.cancel()
        return said, None

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End what a failed test leaves behind, else wait for its own end."""
        if error:
            self.kill()
        if not self.stdout.closed:
            self.communicate()


@cache
def _server(database: str) -> socket.socket:
    """Start the interpreter for one database; it ends with this process, as the socket's other end closes."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks", str(theirs.fileno())],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "config.settings"},
            pass_fds=[theirs.fileno()],
        )
    atexit.register(_end, ours, server)
    return ours


def _end(ours: socket.socket, server: "subprocess.Popen[bytes]") -> None:
    ours.close()
    server.wait()


# -- In the interpreter that forks ------------------------------------------------------------------------------------


def main() -> None:
    """Serve the socket of this number until nobody holds its other end."""
    import django  # noqa: PLC0415  (the test process has it set up already)

    django.setup()
    import tests.crew  # noqa: F401, PLC0415  (what the code of most tests needs is loaded once, with Django set up)

    asked = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for those that wait
    while True:
        length, descriptors, _, _ = socket.recv_fds(asked, LENGTH, PIPES)
        if not length:
            return
        request = asked.recv(int.from_bytes(length), socket.MSG_WAITALL)
        if not os.fork():
            asked.close()
            _attend(json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _attend(request: dict[str, Any], reads: int, writes: int, tells: int) -> None:
    """Make the process that runs the code, and tell of its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        os.close(tells)
        _run(request, reads, writes)
    os.close(reads)
    os.close(writes)
    with contextlib.suppress(BrokenPipeError), os.fdopen(tells, "w") as said:
        print(child, file=said, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=said, flush=True)
    os._exit(0)


def _run(request: dict[str, Any], reads: int, writes: int) -> None:
    """Run the code with its pipes, its arguments, and the settings of its environment; never return."""
    os.dup2(reads, 0)
    os.dup2(writes, 1)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.argv = ["-c", *request["arguments"]]
    ended = 1
    try:
        _settle_in(request["environment"])
        exec(request["code"], {"__name__": "__main__", "sys": sys, "os": os, "json": json})
        ended = 0
    except SystemExit as asked:
        ended = asked.code if isinstance(asked.code, int) else int(asked.code is not None)
    except BaseException:  # noqa: BLE001  (as an interpreter of its own would)
        traceback.print_exc()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    os._exit(ended)


def _settle_in(environment: dict[str, str]) -> None:
    """Read the settings anew, from the environment of the test that asked."""
    import importlib  # noqa: PLC0415

    from django.conf import Settings, settings  # noqa: PLC0415  (after the choice of the settings' module)

    os.environ.clear()
    os.environ.update(environment)
    importlib.reload(sys.modules["config.settings"])
    settings._wrapped = Settings("config.settings")


if __name__ == "__main__":
    main()
