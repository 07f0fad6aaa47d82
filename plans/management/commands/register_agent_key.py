"""With which key does an agent sign? Whoever may run commands on this machine says so."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from plans.services import keys
from sideeffects import actors


class Command(BaseCommand):
    """Registers a public key."""

    help = "Register an Ed25519 public key (PEM, or base64 of its 32 bytes) with which an agent signs its plans."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read which agent, and where its key is."""
        parser.add_argument("--agent", required=True, help="name of the agent")
        parser.add_argument("--key", required=True, type=Path, metavar="FILE", help="the public key")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Register it, in the name of the command line."""
        try:
            text = options["key"].read_text(encoding="ascii", errors="replace")
            by, now = actors.system("command"), timezone.now()  # noqa: TID251  (a command is a face)
            key = keys.register(agent=options["agent"], public_key=text, by=by, now=now)
        except (OSError, keys.BadKeyError) as error:
            raise CommandError(str(error)) from None
        log.seal()
        self.stdout.write(f"{options['agent']} may sign with {key.fingerprint}.")
