"""How do the keys change that sign tokens for targets? With no downtime: the next one is published long before."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from sideeffects import actors
from sideeffects.services import keys


class Command(BaseCommand):
    """Rotates the signing keys."""

    help = "Let the next signing key sign from now on, and publish a new next one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read whether the old key is withdrawn at once."""
        parser.add_argument(
            "--at-once", action="store_true", help="withdraw the old key immediately: others may know it"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Rotate, and say which key signs."""
        try:
            key = keys.rotate(by=actors.system("command"), now=timezone.now(), at_once=options["at_once"])  # noqa: TID251  (a face)
        except keys.KeyTooNewError as error:
            raise CommandError(str(error)) from None
        log.seal()
        self.stdout.write(f"{key.kid} signs from now on.")
