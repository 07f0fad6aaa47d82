"""Where is measured, with what, and how is it told?"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import connection, connections

from audit.bodies import Entry
from audit.events import CATALOGUE, Party

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT_ONCE = 1_000  # records in one transaction
Figure = dict[str, Any]


@contextmanager
def elsewhere() -> Iterator[None]:
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


def entry(number: int) -> Entry:
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


def figure(case: str, value: float, unit: str, limit: float | None = None) -> Figure:
    """Return a figure, beside what it is measured against in the same run."""
    ratio = None if limit is None else round(value / limit, 4)
    return {"case": case, "value": round(value, 4), "unit": unit, "limit": limit and round(limit, 4), "ratio": ratio}


def cpu(work: Callable[[], Any]) -> float:
    """Return the processor's time: a crowded machine disturbs it less than the clock."""
    began = time.process_time()
    work()
    return time.process_time() - began


def wall(work: Callable[[], Any]) -> float:
    """Return the clock's time."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median_of(times: int, work: Callable[[], Any]) -> float:
    """Return the clock's time of a usual run."""
    return sorted(wall(work) for _ in range(times))[times // 2]
