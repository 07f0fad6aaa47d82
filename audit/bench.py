"""How fast is the log here, against what this machine can do? Reads what is there; what it writes it rolls back."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from audit import chain, log
from audit.bodies import Entry, bodies_of
from audit.events import Party
from audit.models import Record, Seal, Unsealed
from audit.verify import verify

SAMPLE = 1_000  # records


@dataclass(frozen=True)
class Figure:
    """One measurement: `limit` is what it is held against, measured in the same run; `ratio` is value by limit."""

    bench: str
    case: str
    value: float
    unit: str
    limit: float

    @property
    def ratio(self) -> float:
        """Return how much of the limit is reached."""
        return self.value / self.limit


def figures(*, now: datetime) -> Iterator[Figure]:
    """Measure appending, sealing and verifying; an empty log has nothing to verify.

    Appending and sealing are rolled back; while they are measured, nobody else can seal.
    """
    party = Party("system", "bench", "bench")
    entries = [Entry("role_granted", ("user", str(one)), party, None, {"role": "bench"}) for one in range(SAMPLE)]
    texts = [body.text.encode() for entry in entries for body in bodies_of(entry, log="bench", now=now)]
    hashing = _rate(SAMPLE, lambda: [chain.leaf_hash(text) for text in texts])
    making = _rate(SAMPLE, lambda: [bodies_of(entry, log="bench", now=now) for entry in entries])
    with transaction.atomic():
        appending = _rate(SAMPLE, lambda: log.append(entries, now=now))
        waiting = Unsealed.objects.filter(record__log=settings.AUDIT_LOG).count()
        sealing = _rate(waiting, lambda: log.seal(settings.AUDIT_LOG))
        transaction.set_rollback(True)
    yield Figure("audit", "append, against making the bodies", appending, "records/s", making)
    yield Figure("audit", "seal, against hashing the leaves", sealing, "records/s", hashing)
    if size := Seal.objects.filter(log=settings.AUDIT_LOG).count():
        verifying = _rate(size, verify)
        yield Figure("audit", "verify, against hashing the leaves", verifying, "records/s", _hashing_of_log(hashing))


def _hashing_of_log(otherwise: float) -> float:
    """Return how fast the bodies that stand on the log are hashed."""
    bodies = Record.objects.filter(log=settings.AUDIT_LOG).order_by("id").values_list("body", flat=True)[:SAMPLE]
    texts = [body.encode() for body in bodies]
    return _rate(len(texts), lambda: [chain.leaf_hash(text) for text in texts]) if texts else otherwise


def _rate(count: int, work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)
