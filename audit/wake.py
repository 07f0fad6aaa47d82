"""How is a worker woken without a request ever waiting for the broker?

One thread per process publishes what was asked for, each task once however often it was asked for meanwhile. Then that
task rests, the longer the more often it is asked for: under load a message for each commit would cost as much as the
commit, and whoever is at work already finds what this one was about. Where the broker does not answer, the wake-up is
lost and the beat schedule finds what it was about. Losing the broker loses time, never work, and never a request's
time.
"""

import logging
import os
import threading
import time

from celery import current_app
from kombu.transport.memory import Channel

REST, LONG_REST = 0.05, 1.0  # seconds between two messages for one task, and under load
ENOUGH = 100  # wake-ups that wait in memory; more would say nothing new

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_asked = threading.Event()
_wanted: set[str] = set()
_publisher: tuple[int, threading.Thread] | None = None


def wake(task: str) -> None:
    """Have the task published soon; returns at once and never raises."""
    with _lock:
        is_new = task not in _wanted
        _wanted.add(task)
        _start()
    if is_new:  # else it rests: the thread is not woken for that
        _asked.set()


def _start() -> None:
    """Start this process's publisher, also after a fork, which copies no thread."""
    global _publisher  # noqa: PLW0603  (one thread per process is what this module is)
    if _publisher is None or _publisher[0] != os.getpid() or not _publisher[1].is_alive():
        thread = threading.Thread(target=_publish, name="wake", daemon=True)
        _publisher = (os.getpid(), thread)
        thread.start()


def _publish() -> None:
    rests = dict[str, tuple[float, float]]()  # of each task: how long it rests, and until when
    while True:
        now = time.monotonic()
        with _lock:
            due = sorted(task for task in _wanted if rests.get(task, (0, 0))[1] <= now)
            _wanted.difference_update(due)
            resting = [rests[task][1] for task in _wanted]
        for task in due:
            _send(task)
            rest, until = rests.get(task, (0.0, 0.0))
            rest = min(2 * rest, LONG_REST) if now - until < rest else REST
            rests[task] = (rest, time.monotonic() + rest)
        if not due:
            _asked.wait(min(resting) - now if resting else None)
            _asked.clear()


def _send(task: str) -> None:
    waiting = Channel.queues.get(current_app.conf.task_default_queue)
    if waiting is not None and waiting.qsize() >= ENOUGH:
        return  # the broker is this process's memory, and no worker here empties it: a command, or a lone web server
    try:
        current_app.send_task(task, ignore_result=True, retry=False)
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises, a lost wake-up costs time only)
        logger.warning("%s was not woken (%s); the schedule will", task, type(error).__name__)
