"""Where on the picture of what is unresolved does each bar stand? Numbers for a drawing that reads without colour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEFT, COLUMN, ROW, BAR = 170, 142, 38, 22  # in units of the drawing
ROOM = COLUMN - 46  # a bar at its longest leaves place for its number
LEAST = 6  # so that one among hundreds is still seen


@dataclass(frozen=True)
class Bar:
    """So many of one cause and age; `broken` is drawn dashed."""

    x: int
    y: int
    width: int
    count: int
    broken: bool

    @property
    def text_x(self) -> int:
        """Return where its number stands: after it."""
        return self.x + self.width + 6

    @property
    def text_y(self) -> int:
        """Return the number's base line."""
        return self.y + BAR - 6


@dataclass(frozen=True)
class Label:
    """A word on the picture."""

    x: int
    y: int
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing of rows (causes) and columns (ages)."""

    width: int
    height: int
    bars: Sequence[Bar]
    rows: Sequence[Label]
    columns: Sequence[Label]

    @property
    def line_y(self) -> int:
        """Return where the line under the bars is."""
        return self.height - 24


def drawn(rows: Mapping[str, Mapping[str, int]], ages: Sequence[str], *, dashed: Sequence[tuple[str, str]]) -> Picture:
    """Draw counts by row and age; `dashed` names what is drawn so, as (row, age)."""
    most = max((count for counts in rows.values() for count in counts.values()), default=1) or 1
    bars = [
        Bar(
            x=LEFT + column * COLUMN,
            y=8 + line * ROW,
            width=max(LEAST, ROOM * counts[age] // most),
            count=counts[age],
            broken=(name, age) in dashed,
        )
        for line, (name, counts) in enumerate(rows.items())
        for column, age in enumerate(ages)
        if counts[age]
    ]
    height = 16 + len(rows) * ROW + 26
    return Picture(
        width=LEFT + len(ages) * COLUMN,
        height=height,
        bars=bars,
        rows=[Label(0, 8 + line * ROW + BAR - 6, name) for line, name in enumerate(rows)],
        columns=[Label(LEFT + column * COLUMN, height - 6, age) for column, age in enumerate(ages)],
    )
