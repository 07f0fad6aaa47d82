"""Is a long log verified in constant memory, and is nobody held up by it?"""

import gc
import json
import sys
import tracemalloc
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from audit import log
from audit.verify import verify
from tests.entries import granted, many
from tests.factories import NOW
from tests.processes import answer, beside, tell

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]

VERIFY = """
import resource, time
from audit.verify import verify
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.monotonic()
verdict = verify()
print(json.dumps({"verdict": verdict.verdict, "size": verdict.size, "seconds": time.monotonic() - began,
    "grown_kB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before}))
"""
COMPUTE = """
import time
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    pass
"""
WRITE = """
import select, time
from django.db import connection, transaction
from audit import log
from tests.entries import granted
from tests.factories import NOW
def write():
    began = time.monotonic()
    with transaction.atomic():
        log.append([granted()], now=NOW)
    return time.monotonic() - began
write()  # connects, and loads what is loaded once
took = []
while not select.select([sys.stdin], [], [], 0.01)[0]:
    took.append(write())
print(json.dumps({"writes": len(took), "worst_ms": max(took) * 1000, "median_ms": sorted(took)[len(took) // 2] * 1000}))
"""


def peak():
    """Return how many bytes verifying held at most."""
    gc.collect()  # what earlier tests left behind is none of its business
    tracemalloc.start()
    try:
        assert verify().verdict == "consistent"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def least():
    """Return the smaller of two peaks: what happens to be collected late is none of its business either."""
    return min(peak(), peak())


def add(count):
    with transaction.atomic():
        log.append([granted(number) for number in range(count)], now=NOW)
    log.seal()


def test_verifying_five_times_as_many_records_holds_no_more_memory(monkeypatch):
    monkeypatch.setattr("audit.walk.ROWS", 100)
    add(400)
    verify()  # whatever is loaded once is loaded now
    few = least()
    for _ in range(4):
        add(400)
    assert verify().size == 2_000
    assert least() < few * 1.3


@contextmanager
def writing():
    """Have a process write meanwhile; what is given is filled with what it measured."""
    measured: dict[str, float] = {}
    writer = beside(WRITE)
    yield measured
    tell(writer, "stop")
    measured |= json.loads(answer(writer))


@pytest.mark.soak
def test_a_hundred_thousand_records_are_verified_beside_a_writer_that_is_never_held_up(capsys):
    many(100_000)
    figures = {}
    with writing() as figures["beside"]:
        figures["verify"] = json.loads(answer(beside(VERIFY)))
    with writing() as figures["control"]:  # beside a process that computes for as long and reads nothing
        answer(beside(COMPUTE, figures["verify"]["seconds"]))
    with capsys.disabled():
        sys.stdout.write(f"{connection.vendor} {json.dumps(figures)}\n")
    assert (figures["verify"]["verdict"], figures["verify"]["size"]) == ("consistent", 100_000)
    assert figures["verify"]["grown_kB"] < 30_000
    assert figures["beside"]["writes"] > 100
    assert figures["beside"]["worst_ms"] < max(100, figures["control"]["worst_ms"] * 1.5)
