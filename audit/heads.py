"""Does the log lead to the heads that were signed, and to the hashes that are kept of its tree?"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from audit import chain, faults, merkle, note, tree
from audit.faults import Fault
from audit.held import Held
from audit.models import Checkpoint, Seal, Tile
from audit.walk import AFTER_ALL, Walk

Row = TypeVar("Row")
AT_ONCE = 500  # rows of checkpoints or tiles held in memory


class Heads:
    """Compares a tree that grows with checkpoints held outside, with those kept here, and with the stored tiles."""

    def __init__(self, log: str, held: Held | None) -> None:
        self.log, self.agreed = log, 0  # up to which size a checkpoint agreed
        self._keys = held.keys if held else ()
        self.held = list(held.heads) if held else []
        self._kept = _Ahead(_checkpoints(log, 0))
        self._tiles = _Ahead(_tiles(log, 0))

    def resume(self, walk: Walk, head: note.Head) -> Fault | None:
        """Have the walk go on after a head that was checked before, if the log still begins with it."""
        seals = Seal.objects.filter(log=self.log, seq__lt=head.size).order_by("-seq")
        seq, value = seals.values_list("seq", "chain").first() or (-1, "")
        if seq + 1 < head.size:
            return self._cut(head, seq + 1)
        try:
            frontier = merkle.Frontier(head.size, tree.tree_of(self.log, head.size).peaks(head.size))
        except merkle.NoSuchProofError:
            detail = f"the hashes of the tree above the first {head.size} records are not all there"
            return Fault(faults.MISSING, 0, "", detail)
        if frontier.root != head.root:
            return self._other(head.size, "the checkpoint held")
        walk.begin(head.size, chain.from_hex(value), frontier)
        other = [one for one in self.held if one.size == head.size and one.root != head.root]
        self.go_on(head.size)
        self.held, self.agreed = other + self.held, head.size
        return None

    def go_on(self, size: int) -> None:
        """Look at nothing that was looked at when the tree had this size."""
        self.agreed = max((head.size for head in self.held if head.size <= size), default=0)
        self.held = [head for head in self.held if head.size > size]
        self._kept = _Ahead(_checkpoints(self.log, size))
        self._tiles = _Ahead(_tiles(self.log, size // merkle.WIDTH))

    def next_size(self, size: int) -> int:
        """Return the next size at which there is a head, or a tile that is full."""
        held = next((head.size for head in self.held if head.size > size), AFTER_ALL)
        kept = self._kept.first
        full = (size // merkle.WIDTH + 1) * merkle.WIDTH
        return min(held, kept.size if kept and kept.size > size else AFTER_ALL, full)

    def look(self, frontier: merkle.Frontier) -> Fault | None:
        """Say whether a head of this very size, or the tile that is full now, has another hash."""
        return self._of_held(frontier) or self._of_kept(frontier) or self._of_tile(frontier)

    def _of_held(self, frontier: merkle.Frontier) -> Fault | None:
        while self.held and self.held[0].size <= frontier.size:
            head = self.held.pop(0)
            if head.size < frontier.size or head.root != frontier.root:
                return self._other(head.size, "the checkpoint held")
            self.agreed = head.size
        return None

    def _of_kept(self, frontier: merkle.Frontier) -> Fault | None:
        while (kept := self._kept.first) and kept.size <= frontier.size:
            self._kept.drop()
            if not self._is_what_was_signed(kept):
                detail = f"the checkpoint kept here for {kept.size} records is not what its note says, or not signed"
                return Fault(faults.FORGED_HEAD, kept.size - 1, "", detail)
            if kept.size == frontier.size and kept.root != frontier.root.hex():
                return self._other(kept.size, "the checkpoint kept here")
            self.agreed = kept.size
        return None

    def _is_what_was_signed(self, kept: Checkpoint) -> bool:
        """Compare a row with its note; its signature with the auditor's keys, where one of them is named in it."""
        try:
            text, signatures = note.split(kept.note)
            head = note.read_head(text)
            if {(key.name, key.id) for key in self._keys} & {(name, id_) for name, id_, _ in signatures}:
                note.open_note(kept.note, self._keys)
        except (note.BadNoteError, note.UnsignedError):
            return False
        return (head.origin, head.size, head.root.hex()) == (kept.origin, kept.size, kept.root)

    def _of_tile(self, frontier: merkle.Frontier) -> Fault | None:
        """Compare every stored hash that the tree has just come to."""
        size, level = frontier.size, 1
        while size % (width := merkle.WIDTH**level) == 0:
            number = size // width - 1
            stored = self._tiles.first if level == 1 else _tile(self.log, level, number)
            if level == 1 and stored and stored.number == number:
                self._tiles.drop()
            root = frontier.tiles[level]
            if stored is None or stored.number != number or stored.root != root.hex():
                detail = f"the stored hash of the tree above the {width} records from here on is not theirs"
                return Fault(faults.FORGED_HEAD, size - width, "", detail)
            level += 1
        return None

    def of_the_end(self, size: int) -> Fault | None:
        """Say whether a checkpoint covers more than there is."""
        if self.held:
            return self._cut(self.held[-1], size)
        if kept := self._kept.first:
            return Fault(
                faults.MISSING, size, "", f"a checkpoint kept here covers {kept.size} records; the log ends before"
            )
        return None

    def _cut(self, head: note.Head, at: int) -> Fault:
        return Fault(faults.MISSING, at, "", f"the checkpoint held covers {head.size} records; the log ends before")

    def _other(self, size: int, which: str) -> Fault:
        where = f"somewhere from place {self.agreed} to {size - 1}"
        detail = f"{which} for {size} records has another root: {where} stand other records than were signed"
        return Fault(faults.NOT_AN_EXTENSION, self.agreed, "", detail)


class _Ahead(Generic[Row]):
    """Rows in their order, of which the first can be seen before it is taken."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.drop()

    def drop(self) -> None:
        """Go on to the next."""
        self.first: Row | None = next(self._rows, None)


def _checkpoints(log: str, size: int) -> Iterator[Checkpoint]:
    rows = Checkpoint.objects.filter(log=log, size__gt=size).order_by("size", "id")
    return iter(rows.iterator(chunk_size=AT_ONCE))


def _tiles(log: str, number: int) -> Iterator[Tile]:
    rows = Tile.objects.filter(log=log, level=1, number__gte=number).order_by("number")
    return iter(rows.iterator(chunk_size=AT_ONCE))


def _tile(log: str, level: int, number: int) -> Tile | None:
    return Tile.objects.filter(log=log, level=level, number=number).first()
