"""How does an auditor take the log home from the command line?"""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from audit import checkpoints, export, log
from audit.events import Party

OPERATOR = Party("system", "operator", "operator")


class Command(BaseCommand):
    """Signs what is new, then writes what the checkpoint covers; records that it did."""

    help = "Write the whole log, or what speaks of one object, as NDJSON whose root can be checked at home, or as CSV."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the object, the form and the file."""
        parser.add_argument("--object", nargs=2, metavar=("TYPE", "ID"), help="only what speaks of this object")
        parser.add_argument("--csv", action="store_true", help="a table for spreadsheets, which is no evidence")
        parser.add_argument("--out", metavar="FILE", help="default: standard output")

    def handle(self, **options: Any) -> None:
        """Export."""
        now = timezone.now()  # noqa: TID251  (a command is a face)
        log.seal()
        try:
            checkpoints.sign(now=now)
            about = tuple(options["object"]) if options["object"] else None
            form = "csv" if options["csv"] else "ndjson"
            file = export.export_for(by=OPERATOR, now=now, form=form, about=about)
        except (*checkpoints.REFUSALS, export.NotCoveredError) as error:
            raise CommandError(str(error)) from error
        if options["out"]:
            with Path(options["out"]).open("wb") as out:
                out.writelines(file.chunks)
        else:
            sys.stdout.buffer.writelines(file.chunks)
        log.seal()
