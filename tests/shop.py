"""How does a test know what a target really did? An honest small shop: each key acts once, every undoing is counted."""

import itertools
import json
import threading
from collections import Counter
from typing import Any

from tests.fakes import Seen


class Shop:
    """Decides for a fake target as an honest one would: 202 with a job, done when asked about the second time."""

    def __init__(self) -> None:
        self.undone: Counter[str] = Counter()
        self.acting = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self._jobs: dict[str, int] = {}
        self._asked: Counter[str] = Counter()
        self._numbers, self._lock = itertools.count(1), threading.Lock()

    def __call__(self, seen: Seen) -> Any:
        """Answer one request."""
        if seen.method == "GET":
            return self._status(seen.path)
        key = seen.headers["Idempotency-Key"]
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = next(self._numbers)
                self.undone[seen.path.rpartition("/")[2]] += 1
        self.acting.set()
        self.go_on.wait(20)
        return 202, {"Location": f"/jobs/{self._jobs[key]}"}, b""

    def _status(self, path: str) -> Any:
        if path.startswith("/jobs/"):
            self._asked[path] += 1
            word = "done" if self._asked[path] > 1 else "pending"
            return 200, {}, json.dumps({"status": word}).encode()
        gone = self.undone[path.rpartition("/")[2]]
        return (404, {}, b"") if gone else (200, {}, b"{}")
