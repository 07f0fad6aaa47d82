"""How do several processes read one log? Each a piece of it at a time; what they found is put together in order.

A piece begins with the chain value that is stored before it, and ends with one that must be where the next began. Of
its tree come the peaks at every size at which somebody wants to look. Where a piece is not good for any reason, this
process goes through it itself, so what is found is what one process finds.
"""

import multiprocessing
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import django
from django.db import DatabaseError, connection, connections

from audit import chain, merkle
from audit.faults import Fault
from audit.heads import Heads
from audit.models import Checkpoint, Seal
from audit.snapshot import shared, snapshot_of
from audit.walk import Walk

PIECE = 4_096  # records; a power of two, so that the tree above a piece is a subtree
WAITING = 2  # pieces for each process that are handed out beforehand
_FORK = "fork" if sys.platform == "linux" else "spawn"
_inherited: list[Any] = []  # a connection of the parent is its own: never used here, and never closed


class Piece(NamedTuple):
    """What was found good: the chain before and after, and its own tree as of each size that matters."""

    before: bytes
    after: bytes
    sizes: list[merkle.Frontier]


def together(walk: Walk, heads: Heads, size: int, processes: int) -> Fault | None:
    """Have processes take the walk as far as whole pieces go; used inside a snapshot, which they share."""
    first = -(-walk.checked // PIECE) * PIECE
    if first + PIECE > size:
        return None
    if fault := walk.first_fault(heads, first) if walk.checked < first else None:
        return fault
    context = multiprocessing.get_context(_FORK)
    begin = (connection.settings_dict["NAME"],)
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=begin) as pool:
        name, held = shared(), [head.size for head in heads.held]
        jobs = (pool.submit(_read, name, walk.log, at, held) for at in range(first, size - PIECE + 1, PIECE))
        try:
            return _join(walk, heads, jobs, processes * WAITING)
        finally:
            pool.shutdown(cancel_futures=True)


def _join(walk: Walk, heads: Heads, jobs: Iterator[Future[Piece | None]], ahead: int) -> Fault | None:
    waiting = deque(islice(jobs, ahead))
    while waiting:
        piece = waiting.popleft().result()
        if piece is None or piece.before != walk.value:
            return None
        base = walk.frontier
        for part in piece.sizes:
            walk.frontier = base.followed_by(part)
            if fault := heads.look(walk.frontier):
                return fault
            walk.checked = walk.frontier.size
        walk.value = piece.after
        waiting.extend(islice(jobs, 1))
    return None


# -- In the other processes -------------------------------------------------------------------------------------------


def _begin(database: str) -> None:
    django.setup()
    _inherited.append(connections["default"])
    del connections["default"]
    connection.settings_dict["NAME"] = database


def _read(name: str, log: str, first: int, held: list[int]) -> Piece | None:
    """Go through a piece; None where anything in it is not good."""
    try:
        with snapshot_of(name):
            before = _chain_before(log, first)
            watch = _Sizes(log, first, held)
            walk = Walk(log)
            walk.begin(first, before, merkle.Frontier())
            fault = walk.first_fault(watch, first + PIECE)
    except DatabaseError:
        return None
    return None if fault or walk.checked != first + PIECE else Piece(before, walk.value, watch.seen)


def _chain_before(log: str, first: int) -> bytes:
    if first == 0:
        return chain.start(log)
    stored = Seal.objects.filter(log=log, seq=first - 1).values_list("chain", flat=True).first()
    return chain.from_hex(stored or "")


class _Sizes:
    """Keeps the tree as of every size at which heads or tiles are looked at."""

    def __init__(self, log: str, first: int, held: list[int]) -> None:
        kept = Checkpoint.objects.filter(log=log, size__gt=first, size__lte=first + PIECE).values_list(
            "size", flat=True
        )
        full = range(merkle.WIDTH, PIECE + 1, merkle.WIDTH)
        self._sizes = sorted({*full, *(size - first for size in (*held, *kept) if 0 < size - first <= PIECE)})
        self.seen = list[merkle.Frontier]()

    def next_size(self, size: int) -> int:
        """Return the next of them."""
        found: int = next(one for one in self._sizes if one > size)
        return found

    def look(self, frontier: merkle.Frontier) -> None:
        """Keep what is there now."""
        if frontier.size in self._sizes:
            self.seen.append(merkle.Frontier().followed_by(frontier))
