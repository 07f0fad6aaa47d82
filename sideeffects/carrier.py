"""How are many requests carried at once? Claim, call in threads, settle, until nothing is due.

Threads only call; the database belongs to the one thread that claims and settles. One loop a process: a second
wake-up makes the first look again at once. A target that hangs holds its own calls and nobody else's.
"""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING

from sideeffects.actors import Actor
from sideeffects.services.carry_out import Called, call, understood
from sideeffects.services.claim import Claimed, claim
from sideeffects.services.settle import settle

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger(__name__)
LINGER = 0.005  # seconds in which answers that come together are settled together


class Carrier:
    """One loop over the requests that are due; `clock` gives the time, `most` how many calls there are at once."""

    def __init__(self, *, by: Actor, clock: Callable[[], datetime], most: int) -> None:
        self._by, self._clock, self._most = by, clock, most
        self._came: queue.SimpleQueue[Called | None] = queue.SimpleQueue()
        self._flying: set[UUID] = set()
        self._one = threading.Lock()
        self._asked = threading.Event()

    def run(self) -> None:
        """Carry what is due until nothing is; where the loop runs already, have it look again and return."""
        self._asked.set()
        self._came.put(None)
        while self._asked.is_set() and self._one.acquire(blocking=False):
            try:
                self._asked.clear()
                self._loop()
            finally:
                self._one.release()

    def _loop(self) -> None:
        with ThreadPoolExecutor(self._most, thread_name_prefix="carrier") as pool:
            self._fly(pool, [])
            while self._flying:
                came = self._next()
                if came or self._asked.is_set():
                    self._asked.clear()
                    self._fly(pool, came)
                settle(called=came, by=self._by, now=self._clock())
            # Nothing is in flight; what has become due meanwhile is for the next wake-up or sweep.

    def _fly(self, pool: ThreadPoolExecutor, came: list[Called]) -> None:
        """Claim what fits and let it go before the answers are settled, so that no slot stands idle meanwhile."""
        finished = {one.claimed.request.pk for one in came}
        self._flying -= finished
        room = self._most - len(self._flying)
        for one in claim(room=room, by=self._by, now=self._clock(), finished=finished):
            self._flying.add(one.request.pk)
            pool.submit(self._carry, one)

    def _carry(self, claimed: Claimed) -> None:
        try:
            came = call(claimed, now=self._clock())
            self._came.put(understood(claimed, came, now=self._clock()))
        except Exception as error:  # noqa: BLE001  (a fault in one call must not end the loop; its lease runs out)
            logger.error("%s was not carried (%s)", claimed.request.pk, type(error).__name__)  # noqa: TRY400  (its text may hold an answer)
            self._flying.discard(claimed.request.pk)
            self._came.put(None)

    def _next(self) -> list[Called]:
        """Wait for an answer or a wake-up, and take what else has come by then."""
        came = [self._came.get()]
        try:
            while True:
                came.append(self._came.get(timeout=LINGER) if len(came) < self._most else self._came.get_nowait())
        except queue.Empty:
            return [one for one in came if one is not None]
