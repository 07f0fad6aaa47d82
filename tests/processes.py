"""How does a test get other processes and threads on its own database?"""

import threading
from collections.abc import Callable
from urllib.parse import quote

from django.db import connection, connections

from tests.forks import ROOT, Fork

__all__ = ["ROOT", "answer", "beside", "database_url", "in_thread", "tell"]


def database_url() -> str:
    """Return the address of the database this test runs on."""
    wanted = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{wanted['NAME']}"
    user, host, port = wanted["USER"], quote(wanted["HOST"], safe=""), wanted["PORT"]
    password = f":{quote(wanted['PASSWORD'], safe='')}" if wanted["PASSWORD"] else ""
    return f"postgres://{user}{password}@{host}{f':{port}' if port else ''}/{wanted['NAME']}"


def beside(code: str, *arguments: object) -> Fork:
    """Run Python code in a process of its own, with Django set up on the test's database."""
    return Fork(code, list(map(str, arguments)), database=database_url())


def tell(process: Fork, line: str) -> None:
    """Give a process one line to read."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def answer(process: Fork, *, code: int = 0) -> str:
    """Return what a process printed; it must have ended with this exit code."""
    said, _ = process.communicate(timeout=120)
    assert process.returncode == code, said
    return said


def in_thread(function: Callable[[], object]) -> threading.Thread:
    """Run it in a thread that closes its own connections."""

    def run() -> None:
        try:
            function()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
