"""What does the sandbox hold? Objects, jobs, the keys it acted on, the token ids it saw: in memory and in a file."""

import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from config.sandbox.behaviours import Behaviour

MOST_SEEN = 200  # requests that are remembered of one object
UNDELETES = frozenset({"undelete", "restore"})


@dataclass
class Thing:
    """One business object; `undone` counts how often something about it was really undone."""

    collection: str
    id: str
    owner: str
    version: str = ""
    tool: str = ""
    present: bool = True
    undone: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    told: dict[str, Behaviour] = field(default_factory=dict)

    def behaviour(self, place: str) -> Behaviour:
        """Return what is to be done now, and count it down."""
        told = self.told.get(place)
        if told is None:
            return Behaviour()
        if told.times is not None:
            told.times -= 1
            if told.times < 1:
                del self.told[place]
        return told

    def undo(self, verb: str) -> None:
        """Really undo: what was created goes, what was deleted comes back, what was changed is put back."""
        self.undone += 1
        if not verb:
            self.present = False
        elif verb in UNDELETES:
            self.present = True


@dataclass
class Job:
    """Work that was accepted; it settles at `due`, a time of the clock."""

    number: int
    request: str
    collection: str
    id: str
    verb: str
    due: float
    fails: str = ""
    status: str = "pending"


@dataclass
class Kept:
    """The answer that a key had, and of which request it was."""

    fingerprint: str
    status: int
    body: dict[str, Any]
    headers: dict[str, str]


class Store:
    """All of it, under one lock that whoever uses it holds; `keep()` writes the file before an answer leaves."""

    def __init__(self, *, file: Path | None, settle_after: float, clock: Callable[[], float]) -> None:
        self.lock = threading.Condition(threading.RLock())
        self.settle_after, self.clock, self._file = settle_after, clock, file
        self.port = 0
        self.things: dict[tuple[str, str], Thing] = {}
        self.jobs: dict[int, Job] = {}
        self.keys: dict[str, Kept] = {}
        self.tokens: dict[str, float] = {}
        self.settled: list[Job] = []
        self._open: dict[int, Job] = {}
        if file is not None and file.exists():
            self._read(file)

    def is_new(self, jti: str, until: float) -> bool:
        """Say whether a token's id was never seen, and remember it for as long as the token could be used."""
        if len(self.tokens) > 1000:  # noqa: PLR2004  (often enough)
            now = self.clock()
            self.tokens = {key: end for key, end in self.tokens.items() if end > now}
        if jti in self.tokens:
            return False
        self.tokens[jti] = until
        return True

    def open_job(self, thing: Thing, *, request: str, verb: str, seconds: float | None, fails: str) -> Job:
        """Accept work; it settles by itself later."""
        wait = self.settle_after if seconds is None else seconds
        job = Job(len(self.jobs) + 1, request, thing.collection, thing.id, verb, self.clock() + wait, fails)
        self.jobs[job.number] = job
        self._open[job.number] = job
        self.lock.notify_all()
        return job

    def settle_now(self) -> int:
        """Do all accepted work now, and return how much that was."""
        for job in self._open.values():
            job.due = min(job.due, self.clock())
        number = len(self._open)
        self.settle_due()
        return number

    def settle_due(self) -> None:
        """Do the accepted work whose time has come; what has settled waits in `settled` to be told."""
        now = self.clock()
        for job in [job for job in self._open.values() if job.due <= now]:
            del self._open[job.number]
            job.status = "failed" if job.fails else "done"
            if not job.fails:
                self.things[job.collection, job.id].undo(job.verb)
            self.settled.append(job)
            self.lock.notify_all()

    def next_due(self) -> float | None:
        """Return the time at which the next work settles."""
        return min((job.due for job in self._open.values()), default=None)

    def forget(self) -> None:
        """Be as new, but for the ids of tokens."""
        with self.lock:
            self.things, self.jobs, self.keys, self.settled, self._open = {}, {}, {}, [], {}
            self.keep()

    def keep(self) -> None:
        """Write everything to the file, where there is one, so that a killed sandbox acts twice on no key."""
        if self._file is None:
            return
        state = {
            "port": self.port,
            "things": [asdict(thing) for thing in self.things.values()],
            "jobs": [asdict(job) for job in self.jobs.values()],
            "keys": {key: asdict(kept) for key, kept in self.keys.items()},
            "tokens": self.tokens,
        }
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self._file)

    def _read(self, file: Path) -> None:
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            things = [_thing(told) for told in state["things"]]
            jobs = [Job(**told) for told in state["jobs"]]
            self.keys = {key: Kept(**kept) for key, kept in state["keys"].items()}
            self.tokens, self.port = dict(state["tokens"]), int(state["port"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            aside = file.with_suffix(".unreadable")
            file.replace(aside)
            print(f"{file.name} cannot be read ({type(error).__name__}); it is {aside.name} now", file=sys.stderr)  # noqa: T201  (a program)
            return
        self.things = {(thing.collection, thing.id): thing for thing in things}
        self.jobs = {job.number: job for job in jobs}
        self._open = {job.number: job for job in jobs if job.status == "pending"}


def _thing(told: dict[str, Any]) -> Thing:
    behaviours = {place: Behaviour(**one) for place, one in told["told"].items()}
    return Thing(**{**told, "told": behaviours})
