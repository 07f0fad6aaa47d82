"""How fast is the log here, against what this machine can do? Measured in a database of its own, gone afterwards."""

import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import connection, connections, transaction

from audit import checkpoints, export, log, merkle
from audit.bodies import Entry, bodies_of
from audit.events import CATALOGUE, Party
from audit.held import hold
from audit.models import Head, Record
from audit.verify import verify

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
RECORDS, NEWER = 20_000, 2_000  # in the log that is read; of these, since the last checkpoint
AT_ONCE = 1_000
CLIENTS, SECONDS = 16, 3.0  # that append, and for how long
Figure = dict[str, Any]


def audit() -> Iterator[Figure]:
    """Measure sealing, verifying, proving and appending; every limit is measured in the same run."""
    with _elsewhere():
        yield from _filling()
        yield from _reading()
        if connection.vendor == "postgresql":  # SQLite has one writer at a time
            for milliseconds in (0, 5, 20):
                yield _appending(milliseconds / 1000)


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Give an empty database, keys and checkpoints of its own; what is there already is not touched."""
    name = settings.DATABASES["default"]["NAME"]
    kept = {key: getattr(settings, key) for key in ("DATA_DIR", "CHECKPOINT_DIR", "CHECKPOINT_HOOK")}
    with TemporaryDirectory(prefix="tb-bench-") as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "bench.sqlite3")
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        settings.DATA_DIR, settings.CHECKPOINT_DIR, settings.CHECKPOINT_HOOK = Path(folder), Path(folder) / "out", ""
        try:
            yield
        finally:
            connections.close_all()
            connection.creation.destroy_test_db(name, verbosity=0)
            for key, value in kept.items():
                setattr(settings, key, value)


def _entry(number: int) -> Entry:
    """Return a record of about 700 bytes: a project and its tasks were revoked."""
    by = Party("user", "1", "alice")
    ids = [f"{number}{task}" for task in range(3)]
    data = {
        **dict.fromkeys(CATALOGUE["COMPENSATE"].fields, "as asked"),
        "members": [{"type": "task", "id": key, "outcome": "revoked", "detail": ""} for key in ids],
        "counts": {"revoked": 3},
        "complete": True,
        "conflict_open": False,
        "overrides": False,
    }
    subjects = [("task", key) for key in ids]
    target = ("project", str(number))
    return Entry("COMPENSATE", target, by, by, data, group=str(number), outcome="revoked", subjects=subjects)


def _figure(case: str, value: float, unit: str, limit: float | None = None) -> Figure:
    ratio = None if limit is None else round(value / limit, 4)
    return {"case": case, "value": round(value, 4), "unit": unit, "limit": limit and round(limit, 4), "ratio": ratio}


def _seconds(work: Callable[[], Any]) -> float:
    """Return the processor's time: a crowded machine disturbs it less than the clock."""
    began = time.process_time()
    work()
    return time.process_time() - began


# -- Writing ----------------------------------------------------------------------------------------------------------


def _filling() -> Iterator[Figure]:
    """Fill the log; on the way, measure sealing beside inserting the same rows of places without hashing any."""
    entries = [_entry(number) for number in range(AT_ONCE)]
    making = _seconds(lambda: [bodies_of(entry, log="bench", now=NOW) for entry in entries])
    appending = sealing = 0.0
    for first in range(0, RECORDS - NEWER, AT_ONCE):
        appending += _write(first, min(AT_ONCE, RECORDS - NEWER - first))
        sealing += _seconds(log.seal)
    done = RECORDS - NEWER
    yield _figure("append in one process, beside making the bodies", done / appending, "records/s", AT_ONCE / making)
    rows = [Head(log=f"row {number}") for number in range(AT_ONCE)]
    inserting = _seconds(lambda: Head.objects.bulk_create(rows))
    yield _figure("seal, beside inserting as many rows", done / sealing, "records/s", AT_ONCE / inserting)


def _write(first: int, count: int) -> float:
    def work() -> None:
        with transaction.atomic():
            log.append([_entry(number) for number in range(first, first + count)], now=NOW)

    return _seconds(work)


def _appending(hold_for: float) -> Figure:
    """Measure transactions of 16 clients that each change a row and hold it, with a record and without; one seals."""
    bare, recorded = (_transactions(hold_for, recording=recording) for recording in (False, True))
    case = f"{CLIENTS} clients, transactions held {hold_for * 1000:.0f} ms, beside no audit at all"
    return _figure(case, recorded, "transactions/s", bare)


def _transactions(hold_for: float, *, recording: bool) -> float:
    until, counts = time.monotonic() + SECONDS, list[int]()

    def client(number: int) -> None:
        done = 0
        while time.monotonic() < until:
            with transaction.atomic():
                Head.objects.update_or_create(log=f"client {number}")
                if recording:
                    log.append([_entry(number)], now=NOW)
                time.sleep(hold_for)
            done += 1
        counts.append(done)
        connections.close_all()

    def sealer() -> None:
        while time.monotonic() < until:
            log.seal()
            time.sleep(0.05)
        connections.close_all()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    threads += [threading.Thread(target=sealer)] if recording else []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS


# -- Reading ----------------------------------------------------------------------------------------------------------


def _reading() -> Iterator[Figure]:
    kept = checkpoints.sign(now=NOW)
    assert kept is not None
    held = hold([kept.note], kept.key)
    _write(RECORDS - NEWER, NEWER)
    log.seal()
    bodies = [body.encode() for body in Record.objects.order_by("id").values_list("body", flat=True)]
    leaf_hashing = min(_seconds(lambda: [sha256(b"\x00" + body).digest() for body in bodies]) for _ in range(3))
    all_hashing = min(_seconds(lambda: _hash(bodies)) for _ in range(3))
    verifying = min(_seconds(lambda: verify(held=held)) for _ in range(4))
    rate = RECORDS / verifying
    yield _figure("full verify, beside hashing the leaves", rate, "records/s", RECORDS / leaf_hashing)
    yield _figure("full verify, beside hashing leaves, chain and tree", rate, "records/s", RECORDS / all_hashing)
    newer = min(_wall(lambda: verify(held=held, incremental=True)) for _ in range(3))
    yield _figure(f"incremental verify of {NEWER} in {RECORDS}", newer * 1000, "ms", NEWER * verifying / RECORDS * 1000)
    uid = Record.objects.get(seal__seq=RECORDS // 3).uid
    proving = sorted(_wall(lambda: export.receipt(uid)) for _ in range(21))[10]
    query = sorted(_wall(lambda: Record.objects.get(uid=uid)) for _ in range(21))[10]
    yield _figure(f"receipt of one in {RECORDS}, beside reading the record", proving * 1000, "ms", query * 1000)
    yield _memory()


def _hash(bodies: list[bytes]) -> None:
    leaves = [sha256(b"\x00" + body).digest() for body in bodies]
    merkle.Frontier().add(leaves)
    value = b""
    for leaf in leaves:
        value = sha256(value + leaf).digest()


def _memory() -> Figure:
    """Measure what verifying all holds, beside verifying a tenth."""

    def peak(seconds: float | None) -> float:
        tracemalloc.start()
        try:
            verify(seconds=seconds)
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()

    return _figure("memory of a full verify, beside the first tenth of a second", peak(None), "MB", peak(0.1))


def _wall(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
