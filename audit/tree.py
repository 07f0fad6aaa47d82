"""Which tree stands above the sealed records? Extended by the sealer, read a few hundred hashes at a time."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial

from django.db import connection
from django.db.models import Max

from audit import chain, merkle
from audit.merkle import HEIGHT, SIZE, WIDTH
from audit.models import Seal, Tile

GO = 16  # tiles of one level in one go: more than a go of the sealer fills, so that a tree that lags catches up
# One tile as one row: how many hashes, the number of the last, and all of them as one text.
_TILE = (
    "SELECT CAST(%s AS integer), CAST(%s AS bigint), count(*), max(t.number), {joined}(t.hash, '') FROM ({hashes}) t"
)
_LEAVES = (
    "SELECT p.seq AS number, r.leaf_hash AS hash FROM audit_seal p JOIN audit_record r ON r.id = p.record_id"
    " WHERE p.log = %s AND p.seq >= %s AND p.seq < %s ORDER BY p.seq"
)
_ROOTS = (
    "SELECT number, root AS hash FROM audit_tile"
    " WHERE level = {level} AND log = %s AND number >= %s AND number < %s ORDER BY number"
)
_JOINED = {"sqlite": "group_concat", "postgresql": "string_agg"}


def extend(log: str, size: int) -> None:
    """Add the hashes of tiles that have become full, at most GO of each level; the caller holds the log's head."""
    level, below = 1, size
    while below >= WIDTH:
        below = _extend_level(log, level, below // WIDTH)
        level += 1


def _extend_level(log: str, level: int, full: int) -> int:
    """Add what is missing of one level and return how many hashes it then has."""
    last = Tile.objects.filter(log=log, level=level).aggregate(last=Max("number"))["last"]
    there = 0 if last is None else last + 1
    until = min(full, there + GO)
    hashes = entries(log, level - 1, there * WIDTH, (until - there) * WIDTH) if until > there else []
    roots = [merkle.fold(hashes[at : at + WIDTH]) for at in range(0, len(hashes) - WIDTH + 1, WIDTH)]
    Tile.objects.bulk_create(
        Tile(log=log, level=level, number=there + at, root=root.hex()) for at, root in enumerate(roots)
    )
    return there + len(roots)


def entries(log: str, level: int, first: int, count: int) -> list[bytes]:
    """Return hashes of one level of tiles, fewer where one is missing; level 0 are the records' leaf hashes."""
    if level == 0:
        places = Seal.objects.filter(log=log, seq__gte=first, seq__lt=first + count)
        found = list(places.order_by("seq").values_list("seq", "record__leaf_hash"))
    else:
        tiles = Tile.objects.filter(log=log, level=level, number__gte=first, number__lt=first + count)
        found = list(tiles.order_by("number").values_list("number", "root"))
    return [chain.from_hex(text) for at, (number, text) in enumerate(found) if number == first + at]


def tree_of(log: str, size: int) -> merkle.Tree:
    """Return the tree of a log as of a size, as its stored hashes have it."""
    return merkle.Tree(partial(entries, log), size)


def tree_for(places: Collection[int], log: str, size: int, root: str) -> merkle.Tree:
    """Return the tree over which `root` was signed, for proofs of some places: what they need is read in one query.

    The subtrees that end the tree are part of every such proof and are remembered, once they lead to the root.
    """
    known = _peaks(log, size, root)
    held = _around(log, size, places if known else (*places, size))

    def read(level: int, first: int, count: int) -> Sequence[bytes]:
        return held.get((level, first)) or entries(log, level, first, count)

    return merkle.Tree(read, size, known)


@lru_cache(maxsize=4)
def _peaks(log: str, size: int, root: str) -> Mapping[tuple[int, int], bytes]:
    """Return the full subtrees that together are the tree with this root; none where what is stored has another."""
    peaks = tree_of(log, size).peaks(size)
    return dict(zip(merkle.nodes(0, size), peaks, strict=True)) if merkle.join(peaks).hex() == root else {}


def _around(log: str, size: int, places: Collection[int]) -> dict[tuple[int, int], list[bytes]]:
    """Return the tiles, by level and first hash, in which these places stand at each level."""
    held = {
        (level, (place >> level * HEIGHT) // WIDTH * WIDTH): list[bytes]()
        for level in range(size.bit_length() // HEIGHT + 1)
        for place in places
    }
    parts = (_LEAVES if level == 0 else _ROOTS.format(level=level) for level, _ in held)
    query = " UNION ALL ".join(_TILE.format(joined=_JOINED[connection.vendor], hashes=part) for part in parts)
    with connection.cursor() as cursor:
        cursor.execute(
            query,
            [
                value
                for level, first in held
                for value in (level, first, log, first, min(first + WIDTH, size >> level * HEIGHT))
            ],
        )
        found = cursor.fetchall()
    for level, first, count, last, text in found:
        hashes = chain.from_hex(text or "")
        if last == first + count - 1 and len(hashes) == count * SIZE:  # else each is read by itself, as far as they go
            held[level, first] = [hashes[at : at + SIZE] for at in range(0, len(hashes), SIZE)]
    return held
