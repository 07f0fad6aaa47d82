"""What do verifying and proving cost, beside this machine's hashing of the same bytes?"""

import multiprocessing
import os
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from django.conf import settings
from django.db import transaction

from audit import chain, checkpoints, export, log, merkle
from audit.bench.fill import fill
from audit.bench.place import AT_ONCE, NOW, Figure, cpu, entry, figure, median_of, wall
from audit.held import hold
from audit.models import Record, Seal
from audit.verify import verify

LONG = int(os.environ.get("TAKEBACK_BENCH_RECORDS", "50000"))  # in the long log; a million takes some minutes
NEWER = 10_000  # of these, since the last checkpoint
PROCESSES, PAIRS = 2, 3


def verifying() -> Iterator[Figure]:
    """Measure full verifies of the log as it was filled."""
    places = Seal.objects.filter(log=settings.AUDIT_LOG).order_by("seq")
    bodies = [body.encode() for body in places.values_list("record__body", flat=True)]
    leaf_hashing = min(cpu(lambda: [sha256(b"\x00" + body).digest() for body in bodies]) for _ in range(3))
    all_hashing = min(cpu(lambda: _hash(bodies)) for _ in range(3))
    rate = len(bodies) / min(cpu(verify) for _ in range(4))
    yield figure("full verify, beside hashing the leaves", rate, "records/s", len(bodies) / leaf_hashing)
    yield figure("full verify, beside hashing leaves, chain and tree", rate, "records/s", len(bodies) / all_hashing)
    shares = [bodies[at::PROCESSES] for at in range(PROCESSES)]
    for what, one, several in (
        ("full verify", verify, lambda: verify(processes=PROCESSES)),
        ("hashing alone", lambda: _hash(bodies), lambda: _each_hashed(shares)),  # what this machine gains at most
    ):
        pairs = [(wall(one), wall(several)) for _ in range(PAIRS)]
        alone, together = sorted(pairs, key=lambda pair: pair[0] / pair[1])[PAIRS // 2]
        case = f"{what} in {PROCESSES} processes, beside one, by the clock"
        yield figure(case, len(bodies) / together, "records/s", len(bodies) / alone)
    yield _memory()


def _each_hashed(shares: list[list[bytes]]) -> None:
    """Hash each share in a process of its own."""
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_hash, args=(share,)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def _hash(bodies: list[bytes]) -> None:
    leaves = [sha256(b"\x00" + body).digest() for body in bodies]
    merkle.Frontier().add(leaves)
    value = b""
    for leaf in leaves:
        value = chain.link(value, leaf)


def _memory() -> Figure:
    """Measure what verifying all holds, beside verifying for a tenth of a second."""

    def peak(seconds: float | None) -> float:
        tracemalloc.start()
        try:
            verify(seconds=seconds)
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()

    return figure("memory of a full verify, beside the first tenth of a second", peak(None), "MB", peak(0.1))


def proving() -> Iterator[Figure]:
    """Measure in a long log what must not grow with it."""
    usual, settings.AUDIT_LOG = settings.AUDIT_LOG, "long"
    try:
        fill("long", LONG - NEWER)
        kept = checkpoints.sign(now=NOW)
        assert kept is not None
        held = hold([kept.note], kept.key)
        for first in range(LONG - NEWER, LONG, AT_ONCE):
            with transaction.atomic():
                log.append([entry(number) for number in range(first, first + AT_ONCE)], now=NOW)
        log.seal()
        new = Seal.objects.filter(log="long", seq__gte=LONG - NEWER).order_by("seq")
        bodies = [body.encode() for body in new.values_list("record__body", flat=True)]
        hashing = min(wall(lambda: _hash(bodies)) for _ in range(5))
        newer = min(wall(lambda: verify(held=held, incremental=True)) for _ in range(5))
        yield figure(
            f"incremental verify of {NEWER} in {LONG}, beside hashing them", newer * 1000, "ms", hashing * 1000
        )
        checkpoints.sign(now=NOW + timedelta(minutes=1))
        uid = Record.objects.get(log="long", seal__seq=LONG // 3).uid
        receipt = median_of(21, lambda: export.receipt(uid))
        query = median_of(21, lambda: Record.objects.get(uid=uid))
        yield figure(f"receipt of one in {LONG}, beside reading the record", receipt * 1000, "ms", query * 1000)
    finally:
        settings.AUDIT_LOG = usual
