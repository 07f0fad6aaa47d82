"""Is the log what was written? Exit 0 only if it is consistent, 1 if it is broken, 2 if nobody can tell."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from audit.presenters import verdict_facts, verdict_words
from audit.verify import BROKEN, CONSISTENT, verify

EXIT = {CONSISTENT: 0, BROKEN: 1}


class Command(BaseCommand):
    """Verifies every record of a log; reads only, in constant memory, while writers write."""

    help = "Check every record of the log against its bytes, its place, the chain and what it is found by."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the log's name and the form of the answer."""
        parser.add_argument("--log", help="which log; this deployment's own by default")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the verdict and leave with its exit code."""
        verdict = verify(options["log"])
        now = timezone.now()  # noqa: TID251  (a command is a face)
        facts = verdict_facts(verdict, now)
        self.stdout.write(json.dumps(facts) if options["json"] else verdict_words(verdict, now))
        sys.exit(EXIT.get(verdict.verdict, 2))
