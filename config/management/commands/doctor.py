"""Does something here need a person? Exit status 1 if so."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from config import checks, fivequestions


class Command(BaseCommand):
    """Asks every question about this deployment and says what it found."""

    help = "Examine this deployment; exit status 1 if something needs a person."
    requires_system_checks = []  # noqa: RUF012  (Django's own attribute); a sick deployment must be examined too

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read how to print."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Examine, print, and leave with 1 if somebody is needed."""
        now = timezone.now()  # noqa: TID251  (a face)
        found, answers = checks.examine(now=now), fivequestions.answers(now=now)
        needed = sum(finding.state is checks.State.NEEDS_A_PERSON for finding in (*found, *answers))
        if options["json"]:
            told = {"checks": [asdict(item) for item in found], "questions": [_answer(item) for item in answers]}
            self.stdout.write(json.dumps({"needs_a_person": needed, **told}, indent=2))
        else:
            for item in found:
                self.stdout.write(f"{item.state.value:<15} {item.check:<13} {item.detail}")
            self.stdout.write("\nFive questions to ask of a button that takes back:")
            for item in answers:
                self.stdout.write(f"{item.state.value:<15} {item.check}\n{'':<15} {item.detail}")
        if needed:
            raise SystemExit(1)


def _answer(item: checks.Finding) -> dict[str, str]:
    return {"question": item.check, "state": item.state.value, "answer": item.detail}
