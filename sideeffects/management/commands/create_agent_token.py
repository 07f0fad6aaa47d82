"""How does an agent get its first token? Printed once, alone on the last line."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from sideeffects import actors, people
from sideeffects.services import tokens


class Command(BaseCommand):
    """Makes a token with which an agent acts for a person."""

    help = "Make a token with which AGENT acts for OWNER, and print it alone on the last line. It is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read for whom it acts, what it may, and how long."""
        parser.add_argument("--agent", required=True, help="name of the agent; registered on first use")
        parser.add_argument("--owner", required=True, help="name of the person it acts for")
        parser.add_argument("--scopes", required=True, help=f"comma-separated, of {', '.join(actors.SCOPES)}")
        parser.add_argument("--days", type=int, help="for how many days; without it the token does not expire")
        parser.add_argument("--name", default="", help="what the token is for")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make the token, in the name of the command line."""
        owner = people.named(options["owner"])
        if owner is None:
            raise CommandError(f"There is no person called {options['owner']}.")
        now = timezone.now()  # noqa: TID251  (a face)
        try:
            token, secret = tokens.create(
                agent=options["agent"],
                owner=owner,
                scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
                name=options["name"],
                expires_at=None if options["days"] is None else now + timedelta(days=options["days"]),
                by=actors.system("command"),
                now=now,
            )
        except (tokens.BadTokenRequestError, OverflowError) as error:
            raise CommandError(str(error)) from None
        log.seal()
        until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "without an end"
        self.stdout.write(f"{token.agent} acts for {owner}: {', '.join(token.scopes)}, {until}. Shown this once:")
        self.stdout.write(secret)
