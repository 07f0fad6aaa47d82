"""How are many requests carried at once? Claim, call in threads, settle, until nothing is due.

The threads that call touch no database. One thread claims and another settles, and for each call in flight one more is
claimed that takes its place when it ends, so that no slot stands idle meanwhile; answers that come together are settled
together. One loop a process: a second wake-up makes the first look again at once. A target that hangs holds its own
calls and nobody else's.
"""

import contextlib
import logging
import queue
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connections

from sideeffects.actors import Actor
from sideeffects.services.carry_out import Called, call, understood
from sideeffects.services.claim import Claimed, claim
from sideeffects.services.settle import settle

logger = logging.getLogger(__name__)
# Seconds in which answers are taken together before the next claim, and before they are settled: either costs almost as
# much for one as for ten, and nobody's slot at a target waits for the second.
LINGER, SETTLE_LINGER = 0.03, 0.1
TOGETHER = 50  # answers that are settled at once without waiting for more
# Seconds after which a thread that computes lets another go on. Each statement and each answer waits for that, and with
# the interpreter's 5 ms most of the time of twenty calls was such waiting.
TURN = 0.0005


class Carrier:
    """One loop over the requests that are due; `clock` gives the time, `most` how many calls there are at once."""

    def __init__(self, *, by: Actor, clock: Callable[[], datetime], most: int) -> None:
        self._by, self._clock, self._most = by, clock, most
        self._came: queue.SimpleQueue[Called | None] = queue.SimpleQueue()
        self._flying: set[UUID] = set()
        self._slots = _Slots()
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
        """Go on while anything is in flight; what becomes due by then is for the next wake-up or sweep."""
        settler = _Settler(by=self._by, clock=self._clock)
        turn = sys.getswitchinterval()
        sys.setswitchinterval(min(turn, TURN))
        try:
            with ThreadPoolExecutor(self._most, thread_name_prefix="carrier") as pool:
                self._fly(pool, settler)
                while self._flying:
                    came = self._next()
                    self._flying -= {one.claimed.request.pk for one in came}
                    settler.take(came)
                    if came or self._asked.is_set():
                        self._asked.clear()
                        self._fly(pool, settler)
        finally:
            settler.close()
            sys.setswitchinterval(turn)

    def _fly(self, pool: ThreadPoolExecutor, settler: "_Settler") -> None:
        """Claim what fits and let it go."""
        running, ahead = self._slots.opened()
        claimed = claim(
            room=self._most - running, by=self._by, now=self._clock(), finished=settler.waiting(), ahead=ahead
        )
        self._flying |= {one.request.pk for one in claimed}
        for one in claimed:
            if self._slots.take(one):
                pool.submit(self._carry, one)

    def _carry(self, claimed: Claimed) -> None:
        """Make this call, and then those that waited for their turn."""
        turn: Claimed | None = claimed
        while turn is not None:
            self._call(turn)
            turn = self._slots.next_after(turn)

    def _answer(self, claimed: Claimed) -> Called:
        now = self._clock()
        if now + timedelta(seconds=settings.TARGET_SECONDS) > claimed.lease_until:
            raise TooLateError
        came = call(claimed, now=now)
        return understood(replace(claimed, started_at=now), came, now=self._clock())

    def _call(self, claimed: Claimed) -> None:
        try:
            self._came.put(self._answer(claimed))
        except Exception as error:  # noqa: BLE001  (a fault in one call must not end the loop; its lease runs out)
            logger.error("%s was not carried (%s)", claimed.request.pk, type(error).__name__)  # noqa: TRY400  (its text may hold an answer)
            self._flying.discard(claimed.request.pk)
            self._came.put(None)

    def _next(self) -> list[Called]:
        """Wait for an answer or a wake-up, and take what else has come by then."""
        came = [self._came.get()]
        until = time.monotonic() + LINGER
        with contextlib.suppress(queue.Empty):
            while True:
                came.append(self._came.get(timeout=max(until - time.monotonic(), 0)))
        return [one for one in came if one is not None]


class TooLateError(Exception):
    """The lease could run out during the call, and then another would make it too."""


class _Slots:
    """How many calls are in flight at each target, and which wait until one of them ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running, self._ended = Counter[int](), Counter[int]()
        self._turns: defaultdict[int, deque[Claimed]] = defaultdict(deque)

    def opened(self) -> tuple[int, dict[int, int]]:
        """Return how many calls are in flight, and of which targets how many more may wait for one of these to end."""
        with self._lock:
            self._ended.clear()
            more = {target: count - len(self._turns[target]) for target, count in self._running.items()}
            return self._running.total(), {target: count for target, count in more.items() if count > 0}

    def take(self, one: Claimed) -> bool:
        """Say whether it may go now; else it has its turn."""
        target = one.request.target_id
        with self._lock:
            if one.waits and not self._ended[target]:
                self._turns[target].append(one)
                return False
            self._ended[target] -= one.waits  # what it waits for has ended since the claim began
            self._running[target] += 1
            return True

    def next_after(self, one: Claimed) -> Claimed | None:
        """Return what takes the place of a call that has ended, or none."""
        target = one.request.target_id
        with self._lock:
            if self._turns[target]:
                return self._turns[target].popleft()
            self._running[target] -= 1
            self._ended[target] += 1
            return None


class _Settler:
    """One thread that settles what has come, all of it that waits at a time."""

    def __init__(self, *, by: Actor, clock: Callable[[], datetime]) -> None:
        self._by, self._clock = by, clock
        self._came = threading.Condition()
        self._called: list[Called] = []
        self._unsettled: set[UUID] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="settler", daemon=True)
        self._thread.start()

    def take(self, called: Sequence[Called]) -> None:
        """Have these settled soon."""
        with self._came:
            self._called += called
            self._unsettled |= {one.claimed.request.pk for one in called}
            self._came.notify()

    def waiting(self) -> frozenset[UUID]:
        """Return the requests whose call is over and whose answer is not settled."""
        with self._came:
            return frozenset(self._unsettled)

    def close(self) -> None:
        """Settle what is left, and end."""
        with self._came:
            self._closed = True
            self._came.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            while called := self._next():
                settle(called=called, by=self._by, now=self._clock())
                with self._came:
                    self._unsettled -= {one.claimed.request.pk for one in called}
        finally:
            connections.close_all()

    def _next(self) -> list[Called]:
        """Wait for answers and return them; none once it is closed and nothing is left."""
        with self._came:
            self._came.wait_for(lambda: self._called or self._closed)
            self._came.wait_for(lambda: self._closed or len(self._called) >= TOGETHER, timeout=SETTLE_LINGER)
            called, self._called = self._called, []
            return called
