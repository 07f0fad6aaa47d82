"""How does an operator sign the log now, change its key, or go on after a restored backup?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from audit import checkpoints, log
from audit.events import Party

OPERATOR = Party("system", "operator", "operator")


class Command(BaseCommand):
    """Signs and publishes the head of this deployment's log, and prints it."""

    help = "Seal, sign and publish the head of the log; print the checkpoint."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the two rare events."""
        rare = parser.add_mutually_exclusive_group()
        rare.add_argument("--rotate-key", action="store_true", help="hand over to a new key; print its public half")
        rare.add_argument("--new-epoch", metavar="REASON", help="after a restored backup: go on under a new origin")

    def handle(self, **options: Any) -> None:
        """Do it, or say why nothing was signed (exit status 1)."""
        now = timezone.now()  # noqa: TID251  (a command is a face)
        log.seal()
        try:
            if options["rotate_key"]:
                self.stdout.write(checkpoints.rotate_key(by=OPERATOR, now=now))
                return
            if reason := options["new_epoch"]:
                signed = checkpoints.begin_epoch(reason=reason, by=OPERATOR, now=now)
            else:
                signed = checkpoints.sign(now=now)
        except checkpoints.REFUSALS as error:
            raise CommandError(f"Nothing was signed: {error}") from error
        if signed is None:
            raise CommandError("Nothing was signed: the log holds no sealed record.")
        self.stdout.write(signed.note)
