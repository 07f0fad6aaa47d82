"""Which tree stands above the leaves, and what proves a place in it? RFC 6962, tiles as C2SP tlog-tiles; pure.

A node is (level, index): the root of the 2**level leaves from index * 2**level on. Hashes are 32 bytes. Stored are the
leaves (level 0) and, from full tiles of 256 hashes, the nodes of levels 8, 16, 24 …: entries of tiles of level 1, 2, 3.
Everything else is computed from these, 256 hashes at a time, so no proof costs more than a few tiles.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise

WIDTH = 256  # hashes in a full tile
HEIGHT = 8  # levels of the tree in one tile
SIZE = 32  # bytes of a hash
EMPTY = sha256().digest()  # the root of no leaves

# entries(tile level, first index, count) -> that many hashes of nodes of level 8 * tile level
Entries = Callable[[int, int, int], Sequence[bytes]]


class NoSuchProofError(Exception):
    """A proof was asked for about a place or a size that the tree does not have."""


def parent(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right)."""
    return sha256(b"\x01" + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root of a full subtree: the number of hashes is a power of two."""
    while len(hashes) > 1:
        pairs = zip(hashes[::2], hashes[1::2], strict=True)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
    return hashes[0]


def nodes(first: int, end: int) -> list[tuple[int, int]]:
    """Return the full subtrees that together are the leaves from first to end - 1, left to right."""
    found = []
    while first < end:
        level = (end - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        found.append((level, first >> level))
        first += 1 << level
    return found


def join(peaks: Iterable[bytes]) -> bytes:
    """Return the root above full subtrees, given left to right."""
    root = None
    for peak in reversed(list(peaks)):
        root = peak if root is None else parent(peak, root)
    return EMPTY if root is None else root


class Frontier:
    """The full subtrees of a tree that grows: all that must be remembered to add leaves and to know the root."""

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        """Begin with the peaks of a tree of this size, left to right; raises ValueError where their number is wrong."""
        self.size, self.peaks = size, list(peaks)
        self.tiles = dict[int, bytes]()  # of each level of tiles the hash that was made last
        if len(self.peaks) != size.bit_count() or any(len(peak) != SIZE for peak in self.peaks):
            raise ValueError("these are not the peaks of a tree of this size")

    def add(self, leaves: Sequence[bytes]) -> None:
        """Add leaf hashes."""
        done = 0
        while done < len(leaves):
            room = min(len(leaves) - done, WIDTH)
            level = room.bit_length() - 1 if not self.size else min(_low(self.size), room.bit_length() - 1)
            self._push(level, fold(leaves[done : done + (1 << level)]))
            done += 1 << level

    def followed_by(self, part: "Frontier") -> "Frontier":
        """Return the tree that goes on with a part; raises ValueError where that does not stand at a full subtree."""
        if self.size and part.size > 1 << _low(self.size):
            raise ValueError("the part is larger than what may follow here")
        grown = Frontier(self.size, self.peaks)
        grown.tiles = {**self.tiles, **part.tiles}
        for (level, _), peak in zip(nodes(0, part.size), part.peaks, strict=True):
            grown._push(level, peak)
        return grown

    def _push(self, level: int, peak: bytes) -> None:
        size, self.size = self.size, self.size + (1 << level)
        while size >> level & 1:
            self._keep(level, peak)
            peak, level = parent(self.peaks.pop(), peak), level + 1
        self._keep(level, peak)
        self.peaks.append(peak)

    def _keep(self, level: int, peak: bytes) -> None:
        if level and level % HEIGHT == 0:
            self.tiles[level // HEIGHT] = peak

    @property
    def root(self) -> bytes:
        """Return the root of the tree as it is now."""
        return join(self.peaks)


def _low(number: int) -> int:
    return (number & -number).bit_length() - 1


class Tree:
    """A tree of one size, read from its stored hashes; each tile is read once, and none for what is `known`."""

    def __init__(self, entries: Entries, size: int, known: Mapping[tuple[int, int], bytes] | None = None) -> None:
        self._entries, self.size, self._known = entries, size, known or {}
        self._tiles = dict[tuple[int, int], Sequence[bytes]]()

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a full subtree; raises NoSuchProofError where a stored hash is missing."""
        if (level, index) in self._known:
            return self._known[level, index]
        tile, above = divmod(level, HEIGHT)
        number, offset = divmod(index << above, WIDTH)
        held = self._tile(tile, number)[offset : offset + (1 << above)]
        if len(held) != 1 << above:
            raise NoSuchProofError(f"hashes of level {tile} are missing")
        return fold(held)

    def _tile(self, level: int, number: int) -> Sequence[bytes]:
        if (level, number) not in self._tiles:
            there = min((self.size >> (HEIGHT * level)) - number * WIDTH, WIDTH)
            self._tiles[level, number] = self._entries(level, number * WIDTH, there) if there > 0 else ()
        return self._tiles[level, number]

    def peaks(self, size: int) -> list[bytes]:
        """Return the full subtrees of the tree as of this size, left to right."""
        return [self.node(level, index) for level, index in nodes(0, size)]

    def root(self, size: int) -> bytes:
        """Return the root as of this size."""
        return join(self.peaks(size))

    def _part(self, first: int, end: int) -> bytes:
        return join(self.node(level, index) for level, index in nodes(first, end))

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Return the proof that a leaf stands at this place, from its sibling up; raises NoSuchProofError."""
        if not 0 <= index < size:
            raise NoSuchProofError(f"there is no place {index} in a tree of {size}")
        proof, first, end = list[bytes](), 0, size
        while end - first > 1:
            middle = first + _split(end - first)
            if index < middle:
                proof.append(self._part(middle, end))
                end = middle
            else:
                proof.append(self._part(first, middle))
                first = middle
        return proof[::-1]

    def consistency(self, before: int, size: int) -> list[bytes]:
        """Return the proof that the tree of one size begins with the tree of a smaller; raises NoSuchProofError."""
        if not 0 < before <= size:
            raise NoSuchProofError(f"nothing leads from size {before} to {size}")
        proof, first, end, whole = list[bytes](), 0, size, True
        while before < end:
            middle = first + _split(end - first)
            if before <= middle:
                proof.append(self._part(middle, end))
                end = middle
            else:
                proof.append(self._part(first, middle))
                first, whole = middle, False
        if not whole:
            proof.append(self._part(first, end))
        return proof[::-1]


def _split(count: int) -> int:
    """Return the largest power of two below count."""
    return 1 << ((count - 1).bit_length() - 1)


def tree_of(leaves: Sequence[bytes]) -> Tree:
    """Return the tree above leaf hashes that are all at hand."""
    levels = [list(leaves)]
    while len(levels[-1]) >= WIDTH:
        below = levels[-1]
        levels.append([fold(below[at : at + WIDTH]) for at in range(0, len(below) - WIDTH + 1, WIDTH)])
    return Tree(lambda level, first, count: levels[level][first : first + count], len(leaves))


# -- Proofs, checked by whoever holds a root ------------------------------------------------------------------------


def _are_hashes(*hashes: bytes) -> bool:
    return all(len(each) == SIZE for each in hashes)


def root_of_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that this proof leads to, or None where it has not the length it must have (RFC 9162 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(leaf, *proof):
        return None
    at, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return None
        if at & 1 or at == last:
            found = parent(sibling, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = parent(found, sibling)
        at, last = at >> 1, last >> 1
    return found if last == 0 else None


def proves_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Say whether the leaf stands at this place in the tree of this size and root."""
    return root_of_inclusion(leaf, index, size, proof) == root


def proves_consistency(before: int, size: int, old: bytes, root: bytes, proof: Sequence[bytes]) -> bool:
    """Say whether the tree of one size begins with the tree of a smaller one (RFC 9162 2.1.4.2).

    From no leaves at all anything can have grown: only the empty proof says so.
    """
    if not 0 <= before <= size or not _are_hashes(old, root, *proof):
        return False
    if before in {0, size}:
        return not proof and old == (EMPTY if before == 0 else root) and (size > 0 or root == EMPTY)
    path = [old, *proof] if before & (before - 1) == 0 else list(proof)
    return bool(path) and _grown(before, size, path) == (old, root)


def _grown(before: int, size: int, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """Return both roots that a consistency proof leads to, or None where its length is wrong."""
    at, last = before - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return None
        if at & 1 or at == last:
            old, new = parent(sibling, old), parent(sibling, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = parent(new, sibling)
        at, last = at >> 1, last >> 1
    return (old, new) if last == 0 else None


# -- Tiles as others name them --------------------------------------------------------------------------------------


def tile_path(number: int) -> str:
    """Return a tile's number as a path, e.g. `x001/x234/067` (C2SP tlog-tiles)."""
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.append(f"x{number % 1000:03}")
    return "/".join(reversed(groups))


def tiles_of(size: int) -> dict[int, tuple[int, int]]:
    """Return for each level of tiles how many are full, and how many hashes the partial one holds."""
    counts = [size]
    while counts[-1] >= WIDTH:
        counts.append(counts[-1] // WIDTH)
    assert all(above == below // WIDTH for below, above in pairwise(counts))
    return {level: divmod(count, WIDTH) for level, count in enumerate(counts)}
