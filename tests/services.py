"""Which servers does a test run use? Starts them before Django reads its settings; xdist's workers inherit them."""

import ipaddress
import json
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")


class OutsideError(Exception):
    """A test tried to reach a machine other than this one."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Bring the servers up and point the settings at them; a wrapper, so that it comes before pytest-django's own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:  # a database of the broker for each, as pytest-django gives each one of PostgreSQL's
        os.environ["TAKEBACK_BROKER"] = f"{os.environ['TAKEBACK_BROKER'].rpartition('/')[0]}/{worker.lstrip('gw')}"
    else:
        start(early_config)
    return (yield)


def start(config: pytest.Config) -> None:
    """Start the holder of the servers, and see that it stops with this run."""
    for name in [name for name in os.environ if name.startswith("TAKEBACK_")]:
        del os.environ[name]  # a developer's own settings are no part of a test
    holder = subprocess.Popen(
        [sys.executable, "-m", "tests.servers"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the tests; the servers go last
    )
    config.add_cleanup(lambda: release(holder))
    assert holder.stdout
    line = holder.stdout.readline()
    if not line:
        raise pytest.UsageError("A server the tests need is missing; the lines above say which.")
    held = json.loads(line)
    data = Path(tempfile.mkdtemp(dir=held["folder"], prefix="data-"))
    os.environ.update(
        DATABASE_URL=held["database"],
        TAKEBACK_BROKER=held["broker"],
        TAKEBACK_DATA=str(data),
        TAKEBACK_SECRET_KEY="only-for-tests",
        DJANGO_ALLOW_ASYNC_UNSAFE="1",  # Playwright's synchronous API runs a loop in the thread of the tests
    )


def release(holder: "subprocess.Popen[str]") -> None:
    """Let the servers go, and wait for it; whoever misses them in a thread has nobody left to tell."""
    logging.raiseExceptions = False
    assert holder.stdin
    holder.stdin.close()
    holder.wait(30)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--soak`."""
    parser.addoption("--soak", action="store_true", help="run the tests that take minutes too")


def on_sqlite() -> bool:
    """Say whether this is the pass on SQLite."""
    return os.environ["DATABASE_URL"].startswith("sqlite")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread of which nothing runs: all long and not asked for, or on SQLite nothing marked `both`."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    too_long = re.search(r"^pytestmark = .*mark\.soak\b", text, re.MULTILINE) and not config.getoption("--soak")
    return True if too_long or (on_sqlite() and "mark.both" not in text) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests unless asked for, and on SQLite all that are not marked `both`."""
    wanted: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        too_long = item.get_closest_marker("soak") and not config.getoption("--soak")
        elsewhere = on_sqlite() and not item.get_closest_marker("both")
        (left_out if too_long or elsewhere else wanted).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = wanted


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Leave the counts where `python -m tests` adds them up."""
    if path := os.environ.get("TEST_TALLY"):
        counts = {outcome: len(reports) for outcome, reports in terminalreporter.stats.items() if outcome}
        Path(path).write_text(json.dumps(counts), encoding="utf-8")


def pytest_configure() -> None:
    """Refuse connections to other machines, and looking up their names, in every process of the run."""
    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host and not is_here(host) and not is_numeric(host):
            raise OutsideError(f"A test tried to look up {host}")
        return look_up(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


def refusing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of a socket, refusing any address but loopback and Unix sockets."""

    def method(self: socket.socket, *args: Any) -> Any:
        address = args[-1]
        if self.family in {socket.AF_INET, socket.AF_INET6} and not is_here(address[0]):
            raise OutsideError(f"A test tried to reach {address[0]}")
        return original(self, *args)

    return method


def is_here(host: str | bytes) -> bool:
    """Tell whether a host's name or address is this machine's loopback."""
    text = host.decode() if isinstance(host, bytes) else host
    return text.startswith(LOOPBACK)


def is_numeric(host: str | bytes) -> bool:
    """Tell whether a host is written as an address, which needs no look-up."""
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        return False
    return True
