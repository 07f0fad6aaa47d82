"""How do transcripts of agents that ran before this console come in? From a file in the OpenAI chat format."""

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from sideeffects import actors, people, toolfiles, transcripts
from sideeffects.services import take_in

REFUSED = 2  # the exit status where a file cannot be imported as it is, and nothing was
MOST_SHOWN = 50


class Command(BaseCommand):
    """Imports transcripts: checks the whole file, then records call by call."""

    help = (
        "Record the tool calls of FILE.jsonl, one conversation a line in the OpenAI chat format, for OWNER. Both files "
        "are checked whole first: where anything cannot be read, it is named and nothing is imported (exit status 2). "
        "Importing again adds nothing, and completes what was interrupted. Nothing is asked of a target."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read which files, for whom, and how to print."""
        parser.add_argument("file", metavar="FILE.jsonl", help="the transcripts; - reads standard input")
        parser.add_argument("--tools", required=True, metavar="TOOLS.toml", help="what each tool does: see README")
        parser.add_argument("--owner", required=True, metavar="NAME", help="the person the agents acted for")
        parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, seal the log, print the figures."""
        owner = people.named(options["owner"])
        if owner is None:
            raise CommandError(f"There is no person called {options['owner']}.", returncode=REFUSED)
        try:
            with _opened(options["file"]) as stream:
                tools = _tools(options["tools"])
                _check(stream, options["file"])
                figures = self._import(stream, tools, owner)
        except take_in.ToolsOfThisConsoleError as error:
            raise CommandError(f"{options['tools']}: {error}", returncode=REFUSED) from None
        except OSError as error:
            raise CommandError(f"{error.filename or options['file']}: {error.strerror}", returncode=REFUSED) from None
        self._print(figures, as_json=options["json"])

    def _import(self, stream: IO[bytes], tools: toolfiles.ToolFile, owner: Any) -> take_in.Figures:
        by, now = actors.system("import"), timezone.now()  # noqa: TID251  (a face)
        try:
            for target in take_in.describe(tools=tools, by=by, now=now):
                said = f"{target.name} is known as {target.base_url or 'a name without an address'}; that stays."
                self.stderr.write(said)
            return take_in.take_in(conversations=_readable(stream), tools=tools, owner=owner, by=by, now=now)
        finally:
            log.seal()

    def _print(self, figures: take_in.Figures, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(figures.as_json()))
        else:
            for name, count in figures.as_json().items():
                self.stdout.write(f"{name:<10}{count:>9}")
        notes = {
            "of the groups are in flight: the transcript holds no result of their calls": figures.in_flight,
            "results hold no id where the tool's file says: what they declare cannot be taken back": figures.without_id,
            "calls have arguments that are not a JSON object: they are told apart by their text": figures.unreadable,
            "declarations differed from more than is kept for one call: they are counted there": figures.not_kept,
        }
        for note, count in notes.items():
            if count:
                self.stderr.write(f"{count} {note}.")
        for tool in sorted(figures.unknown):
            self.stderr.write(f"{tool} is not described: its calls are recorded as not revocable.")


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Give the file, or what comes in from a pipe kept in a temporary one, since it is read twice."""
    with sys.stdin.buffer if name == "-" else Path(name).open("rb") as stream:
        if stream.seekable():
            yield stream
            return
        with tempfile.TemporaryFile() as kept:
            shutil.copyfileobj(stream, kept)
            kept.seek(0)
            yield kept


def _tools(name: str) -> toolfiles.ToolFile:
    try:
        return toolfiles.read(Path(name).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CommandError(f"{name}: is not UTF-8 at byte {error.start}", returncode=REFUSED) from None
    except toolfiles.BadToolFileError as error:
        raise CommandError("\n".join(f"{name}: {fault}" for fault in error.faults), returncode=REFUSED) from None


def _check(stream: IO[bytes], name: str) -> None:
    """Read everything once; raises CommandError naming every line that cannot be read, before anything is written."""
    count, shown = 0, []
    for item in transcripts.read(stream):
        if isinstance(item, transcripts.BadLine):
            count += 1
            shown.append(f"{name}: {item}") if count <= MOST_SHOWN else None
    stream.seek(0)
    if count:
        more = [f"{name}: and {count - MOST_SHOWN} more"] if count > MOST_SHOWN else []
        raise CommandError("\n".join([*shown, *more, "Nothing was imported."]), returncode=REFUSED)


def _readable(stream: IO[bytes]) -> Iterator[transcripts.Conversation]:
    for item in transcripts.read(stream):
        if isinstance(item, transcripts.BadLine):
            raise CommandError(f"The file changed while it was read: {item}. Import it again.")
        yield item
