"""How is a worker woken without a request ever waiting for the broker?

One thread per process publishes what was asked for, each task once however often it was asked for meanwhile, and then
rests, the longer the more often it is asked: under load a message for each commit would cost as much as the commit,
and another at work already finds what this one was about. Where the broker does not answer, the
wake-up is lost and the beat schedule finds what it was about. Losing the broker loses time, never work, and never a
request's time.
"""

import logging
import os
import threading
import time

from celery import current_app
from kombu.transport.memory import Channel

REST, LONG_REST = 0.05, 0.4  # seconds between two rounds, and under load
ENOUGH = 100  # wake-ups that wait in memory; more would say nothing new

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_asked = threading.Event()
_wanted: set[str] = set()
_publisher: tuple[int, threading.Thread] | None = None


def wake(task: str) -> None:
    """Have the task published soon; returns at once and never raises."""
    with _lock:
        _wanted.add(task)
        _start()
    _asked.set()


def _start() -> None:
    """Start this process's publisher, also after a fork, which copies no thread."""
    global _publisher  # noqa: PLW0603  (one thread per process is what this module is)
    if _publisher is None or _publisher[0] != os.getpid() or not _publisher[1].is_alive():
        thread = threading.Thread(target=_publish, name="wake", daemon=True)
        _publisher = (os.getpid(), thread)
        thread.start()


def _publish() -> None:
    rest = REST
    while True:
        _asked.wait()
        _asked.clear()
        with _lock:
            tasks = sorted(_wanted)
            _wanted.clear()
        for task in tasks:
            _send(task)
        time.sleep(rest)
        rest = min(2 * rest, LONG_REST) if _asked.is_set() else REST


def _send(task: str) -> None:
    waiting = Channel.queues.get(current_app.conf.task_default_queue)
    if waiting is not None and waiting.qsize() >= ENOUGH:
        return  # the broker is this process's memory, and no worker here empties it: a command, or a lone web server
    try:
        current_app.send_task(task, ignore_result=True, retry=False)
    except Exception as error:  # noqa: BLE001  (whatever the broker's client raises, a lost wake-up costs time only)
        logger.warning("%s was not woken (%s); the schedule will", task, type(error).__name__)
