"""How does a newcomer run all of it? Web, worker and beat in one process, with demo data unless told otherwise."""

import ipaddress
import os
import signal
import threading
from argparse import ArgumentParser
from typing import Any

import waitress
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from config import demo, demo_targets, env
from config.celery import app
from config.embedded import Background
from config.neighbour import AUDIENCE, Neighbour, secret
from config.wsgi import application
from sideeffects import actors
from sideeffects.actors import ADMIN
from sideeffects.models import Role
from sideeffects.services import declare

GRACE = 3.0  # seconds for what runs at a stop; what is cut off then, the next sweep takes up: the row is the queue


class Command(BaseCommand):
    """Serves the console on this machine."""

    help = "Migrate, make the demo data, and serve the console with its worker and beat in one process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read where to listen; `--data` and `--no-demo` have been acted on before Django was loaded."""
        parser.add_argument("--port", type=int, default=8000, help="default: 8000")
        parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1; anything wider needs --no-demo")
        parser.add_argument(
            "--data", metavar="DIR", help="folder of database and keys (for every command; default: var)"
        )
        parser.add_argument("--no-demo", action="store_true", help="make no demo people and no demo data")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Take the port, prepare the database, start everything, say where it is, serve until told to stop."""
        host, port = options["host"], options["port"]
        check_demo(host)
        server = take_port(host, port)
        neighbour = begin(host, port) if settings.DEMO else None  # it starts while the database is prepared
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, stop)
        call_command("migrate", verbosity=0, interactive=False)
        declare.sync(by=actors.system("up"), now=timezone.now())  # noqa: TID251  (a face)
        lines = demo_lines(neighbour) if neighbour else first_lines()
        mark()
        log.seal()
        background = Background(app)
        background.start()
        self.stdout.write("\n".join([f"Takeback is at http://{host}:{port}/  (Ctrl-C stops it)", *lines]))
        self.stdout.flush()
        server.run()
        background.stop()
        if neighbour:
            neighbour.stop()
        os._exit(0)  # an orderly end would wait once more for idle threads


def check_demo(host: str) -> None:
    """Refuse the demonstration where it must not be, and where its story cannot be told; raises CommandError."""
    if settings.DEMO and not is_loopback(host):
        raise CommandError("Demo people may be entered without a password, so only on 127.0.0.1. Add --no-demo.")
    if settings.DEMO and not apps.is_installed("sideeffects.workspace"):
        raise CommandError(
            "The demonstration is told with the sample workspace, which is not installed. Add --no-demo."
        )


def mark() -> None:
    """Leave in the data folder whether it holds a demonstration, for the commands that come after."""
    if settings.DEMO:
        settings.DEMO_MARK.touch()
    else:
        settings.DEMO_MARK.unlink(missing_ok=True)


def begin(host: str, port: int) -> Neighbour:
    """Start the sandbox, which finds the console's keys at the address served here."""
    console = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if not env.text("TAKEBACK_URL"):
        settings.PUBLIC_URL = console
    return Neighbour(console=console, target=demo_targets.CRM, folder=settings.DATA_DIR)


def demo_lines(neighbour: Neighbour) -> list[str]:
    """Make the demo data and return who can enter it, and the token an agent can use."""
    now = timezone.now()  # noqa: TID251  (a face)
    neighbour.wait()
    settings.TARGET_HOSTS = settings.TARGET_HOSTS | {neighbour.host}
    demo_targets.register(url=neighbour.url, audience=AUDIENCE, secret=secret(), now=now)
    access = demo.seed(now=now, stage=neighbour)
    people = [f"  {name:<8} {password}" for name, password in access.passwords.items()]
    heading = "Made-up people, from this machine only; passwords and token are new at each start:"
    return [heading, *people, f"Token of the agent {demo.AGENT}, acting for alice: {access.token}"]


def first_lines() -> list[str]:
    """Keep made-up people of an earlier start out, and return how the first admin is made, where there is none."""
    demo.close()
    if Role.objects.filter(role=ADMIN, user__is_active=True).exists():
        return []
    grant = "python3 manage.py grant_role --user NAME --role admin"
    return [f"There is no admin yet: python3 manage.py createsuperuser, then {grant}"]


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def take_port(host: str, port: int) -> Any:
    """Return a server that holds the port; raises CommandError where it is taken."""
    try:
        return waitress.create_server(application, host=host, port=port, threads=8)
    except OSError as error:
        raise CommandError(f"Cannot listen on {host}:{port} ({error.strerror}). Choose another: --port N") from error


def stop(*_: object) -> None:
    """Leave the server's loop, and the process itself after the grace."""
    last = threading.Timer(GRACE, os._exit, (0,))
    last.daemon = True
    last.start()
    raise SystemExit(0)
