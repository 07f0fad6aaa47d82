"""Would these plans be accepted? Exit 0 only if all pass, 1 if one is refused, 2 if a file cannot be read."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from plans.core import artifact, moment, report
from plans.core.verdict import PROFILES, validate

REFUSED, UNREADABLE = 1, 2


def instant(text: str) -> datetime:
    """Read --now."""
    found = moment.parse(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no RFC 3339 instant with an offset")
    return found


class Command(BaseCommand):
    """Judges plans from files or standard input."""

    help = __doc__
    requires_system_checks: list[str] = []  # noqa: RUF012  (Django reads a list here)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("files", nargs="+", metavar="FILE", help="a plan; - for standard input; .jsonl: one a line")
        parser.add_argument("--now", type=instant, help="judge at this RFC 3339 instant instead of now")
        parser.add_argument("--profile", choices=PROFILES, default="default", help="strict: warnings refuse too")
        parser.add_argument("--json", action="store_true", help="one object a line and plan")

    def handle(self, **options: Any) -> None:
        """Judge each plan as it is read; a file that cannot be read does not keep the others from being judged."""
        now = options["now"] or timezone.now()  # noqa: TID251  (a command is a face)
        status = 0
        for name in options["files"]:
            try:
                for label, data in _plans(name):
                    verdict = validate(data, now=now, profile=options["profile"])
                    self._write(label, verdict, as_json=options["json"])
                    status = max(status, 0 if verdict.ok else REFUSED)
            except OSError as error:
                self.stderr.write(f"{name}: cannot be read: {error.strerror}")
                status = UNREADABLE
        if status:
            sys.exit(status)

    def _write(self, label: str, verdict: Any, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"file": label, **report.as_json(verdict)}))
            return
        self.stdout.write(f"{label}: {report.headline(verdict)}")
        for line in report.as_lines(verdict):
            self.stdout.write(line)


def _plans(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield each plan of a file with its label; one more byte than may be read is enough to refuse it."""
    if name == "-":
        yield "-", sys.stdin.buffer.read(artifact.MAX_BYTES + 1)
        return
    with Path(name).open("rb") as file:
        if not name.endswith(".jsonl"):
            yield name, file.read(artifact.MAX_BYTES + 1)
            return
        for number, line in enumerate(_lines(file), 1):
            if line.strip():
                yield f"{name}:{number}", line


def _lines(file: Any) -> Iterator[bytes]:
    """Yield lines in bounded memory: of one that is too long, as much as shows that it is."""
    while line := file.readline(artifact.MAX_BYTES + 2):
        kept = line
        while not line.endswith(b"\n") and (line := file.readline(artifact.MAX_BYTES + 2)):
            pass
        yield kept.rstrip(b"\n")
