"""Who takes back what in a bench, and how is told what that took?"""

import os
import time
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import connection

from audit.bench.place import NOW
from sideeffects import actors
from sideeffects.batches.scope import Scope
from sideeffects.bench import fill
from sideeffects.models import Batch, Group
from sideeffects.services import tokens
from sideeffects.services.batch_start import start
from sideeffects.services.batch_work import work


class Spent(NamedTuple):
    """What something took: seconds by the clock, and of the processor, here and in the database's own process."""

    clock: float
    cpu: float


class Watch:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), time.process_time() + _backend()

    def spent(self) -> Spent:
        """Return what was spent so far."""
        return Spent(time.perf_counter() - self._clock, time.process_time() + _backend() - self._cpu)


class Place:
    """Alice, her agent, and one action of each kind, of which there can be many more."""

    def __init__(self) -> None:
        model = get_user_model()
        self.owner = model._default_manager.create(**{model.USERNAME_FIELD: "alice"})
        self.by = actors.person(self.owner)
        token, _ = tokens.create(
            agent="planner", owner=self.owner, scopes=["record"], by=actors.system("bench"), now=NOW
        )
        agent = actors.agent(token)
        tasks = [f"Task {number}" for number in range(1, 11)]
        self.single = fill.action("note.create", {"title": "A note", "body": "Said by an agent."}, by=agent, now=NOW)
        self.eleven = fill.action("project.create", {"name": "Q3 launch", "tasks": tasks}, by=agent, now=NOW)
        self._numbers = count(1)

    def filled(self, of: Group, number: int) -> str:
        """Return a new conversation that holds so many copies of an action."""
        conversation = f"bench {next(self._numbers)}"
        fill.copies(of, number, conversation=conversation)
        return conversation

    def frozen(self, conversation: str) -> Batch:
        """Return the batch that is to take all of a conversation back."""
        return start(scope=Scope(conversation=conversation), by=self.by, now=NOW, reason="", via="api")

    def taken_back(self, conversation: str) -> tuple[Spent, Spent]:
        """Take a conversation back, and return what freezing it took, and the work."""
        watch = Watch()
        batch = self.frozen(conversation)
        freezing, watch = watch.spent(), Watch()
        done = work(by=actors.system("bench"), clock=lambda: NOW)
        spent = watch.spent()
        assert done == batch.groups, (done, batch.groups)
        return freezing, spent


def counted_anew() -> None:
    """Have the database count its rows, as PostgreSQL does by itself some time after many have come."""
    _run("ANALYZE")


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _backend() -> float:
    """Return the processor's seconds of the database's process for this connection, where that can be seen."""
    if connection.vendor != "postgresql":
        return 0.0
    connection.ensure_connection()
    stat = Path(f"/proc/{_pid(connection.connection)}/stat")
    told = stat.read_text(encoding="utf-8", errors="replace") if stat.exists() else ""
    if "(postgres)" not in told:
        return 0.0
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _pid(database: Any) -> int:
    return int(database.info.backend_pid)
