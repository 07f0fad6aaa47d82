"""What does a record cost the transactions it stands in? Clients in processes of their own, with and without, in turn.

Where all processors are busy (0 ms held; on two of them, 16 clients at 5 ms too) the ratio is that of processor time,
with a record's place in it; the longer a transaction waits for something else, the less of it is seen.
"""

import gc
import multiprocessing
import os
import time
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from audit import log
from audit.bench.place import NOW, Figure, entry, figure

CLIENTS, PAIRS, SECONDS = 16, 3, 2.0  # that append at once; measurements of each kind, and how long one takes
WARM = 20  # transactions of each client before
REST = 0.05  # seconds between two goes of the sealer


class Measured(NamedTuple):
    """What the clients did together: transactions a second, and the processor's seconds in a client for one."""

    rate: float
    cpu: float


def appending() -> Iterator[Figure]:
    """Measure transactions that insert a row, change it and wait; beside the same without record and sealer."""
    costs = list[float]()
    for milliseconds in (0, 5, 20):
        held = milliseconds / 1000
        pairs = [(_measure(held, recording=False), _measure(held, recording=True)) for _ in range(PAIRS)]
        bare, recorded = sorted(pairs, key=lambda pair: pair[1].rate / pair[0].rate)[PAIRS // 2]
        case = f"{CLIENTS} clients, transactions held {milliseconds} ms, beside no audit at all"
        yield figure(case, recorded.rate, "transactions/s", bare.rate)
        costs += [recorded.cpu - bare.cpu for bare, recorded in pairs]
    yield figure("processor time of an append, in its client", median(costs) * 1000, "ms")


def _measure(held: float, *, recording: bool) -> Measured:
    connections.close_all()
    gc.freeze()  # else every client copies the memory that it shares
    fork = multiprocessing.get_context("fork")  # a client is there at once, with all of this loaded
    ready, done = fork.Barrier(CLIENTS + recording), fork.SimpleQueue()
    processes = [fork.Process(target=_client, args=(held, recording, ready, done)) for _ in range(CLIENTS)]
    processes += [fork.Process(target=_sealer, args=(ready,))] if recording else []
    for process in processes:
        process.start()
    found: list[tuple[int, float, float]] = [done.get() for _ in range(CLIENTS)]
    for process in processes:
        process.join()
    rate = sum(count / seconds for count, seconds, _ in found)
    return Measured(rate, sum(cpu for *_, cpu in found) / sum(count for count, *_ in found))


def _client(held: float, recording: bool, ready: Any, done: Any) -> None:  # noqa: FBT001  (arguments of a process)
    for number in range(WARM):
        _transact(number, held, recording=recording)
    ready.wait()
    began, cpu, number = time.monotonic(), time.process_time(), WARM
    while time.monotonic() - began < SECONDS:
        _transact(number, held, recording=recording)
        number += 1
    done.put((number - WARM, time.monotonic() - began, time.process_time() - cpu))
    connections.close_all()


def _transact(number: int, held: float, *, recording: bool) -> None:
    name = f"{os.getpid()} {number}"
    with transaction.atomic():
        row = Group.objects.create(name=name)
        Group.objects.filter(pk=row.pk).update(name=f"{name} changed")
        if recording:
            log.append([entry(number)], now=NOW)
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(%s)", [held])


def _sealer(ready: Any) -> None:
    ready.wait()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        log.seal()
        time.sleep(REST)
    connections.close_all()
