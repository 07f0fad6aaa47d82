"""Is the log what was written? Exit 0 if it is verified or consistent, 1 if it is broken, 2 if nobody can tell."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from audit.held import Held, UnusableCheckpointError, hold
from audit.presenters import verdict_facts, verdict_words
from audit.verify import BROKEN, CONSISTENT, VERIFIED, verify

EXIT = {VERIFIED: 0, CONSISTENT: 0, BROKEN: 1}
UNTOLD = 2


class Command(BaseCommand):
    """Verifies every record of a log; reads only, in constant memory, while writers write."""

    help = "Check every record of the log, by itself or against checkpoints that you hold."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the log's name, what is held of it, and the form of the answer."""
        parser.add_argument("--log", help="which log; this deployment's own by default")
        parser.add_argument(
            "--checkpoint", action="append", default=[], metavar="FILE", help="one that you hold; several"
        )
        parser.add_argument("--key", metavar="FILE", help="the log's public keys that you hold, one a line")
        parser.add_argument(
            "--incremental",
            action="store_true",
            help="do not read again what the smallest of the checkpoints covers: you have checked that before",
        )
        parser.add_argument("--processes", type=int, default=1, metavar="N", help="how many read at once; 1 by default")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        """Print the verdict and leave with its exit code."""
        held = self._held(options["checkpoint"], options["key"])
        if options["incremental"] and held is None:
            raise CommandError("--incremental needs a checkpoint to go on from.", returncode=UNTOLD)
        verdict = verify(options["log"], held=held, incremental=options["incremental"], processes=options["processes"])
        now = timezone.now()  # noqa: TID251  (a command is a face)
        facts = verdict_facts(verdict, now)
        self.stdout.write(json.dumps(facts) if options["json"] else verdict_words(verdict, now))
        sys.exit(EXIT.get(verdict.verdict, UNTOLD))

    def _held(self, files: list[str], key: str | None) -> Held | None:
        """Open what the auditor holds; whatever of it proves nothing ends here: cannot tell."""
        if not files and not key:
            return None
        if not key:
            raise CommandError("Cannot tell: nothing is proven without the key. Add --key.", returncode=UNTOLD)
        try:
            return hold(
                [Path(file).read_text(encoding="utf-8") for file in files], Path(key).read_text(encoding="utf-8")
            )
        except (UnusableCheckpointError, OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot tell: {error}", returncode=UNTOLD) from error
