"""How is a batch written down as a table for spreadsheets? In pieces, its cells inert."""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC

from audit.export import inert
from audit.inert import visible
from sideeffects.actors import Actor
from sideeffects.batches import sheets
from sideeffects.batches.sheets import Line
from sideeffects.models import Batch

COLUMNS = (
    *("position", "group", "owner", "agent", "tool", "conversation", "run", "what", "objects"),
    *("outcome", "answered", "detail", "refusal", "stands_now", "worked_at"),
)


def table(batch: Batch, outcome: str, *, by: Actor) -> Iterator[bytes]:
    """Yield the table: its heads, one line an action in the order of work, and a last line that says it is whole."""
    count = 0
    yield _csv([COLUMNS])
    for lines in sheets.pieces(batch, outcome, by=by):
        count += len(lines)
        yield _csv([_cells(line) for line in lines])
    yield _csv([[f"Whole: {count} of the {batch.groups} actions of the batch"]])


def _cells(line: Line) -> list[object]:
    item, group = line.item, line.view.group
    worked = item.worked_at.astimezone(UTC).isoformat().replace("+00:00", "Z") if item.worked_at else ""
    agent = group.agent.name if group.agent else ""
    names = [group.owner.get_username(), agent, group.tool, group.conversation, group.run, str(line.view.summary)]
    ends = [line.outcome.value, item.outcome, item.detail, item.refusal, str(line.view.state_words)]
    return [item.position, str(group.pk), *map(_cell, names), item.members, *map(_cell, ends), worked]


def _cell(text: str) -> str:
    return inert(visible(text))


def _csv(rows: Sequence[Sequence[object]]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
