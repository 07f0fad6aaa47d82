"""How do the worker and beat run inside the process that serves the pages?

Not under autoreload or a server that forks: threads would be lost. Losing them, or the broker in memory, loses no work:
the row is the queue, and beat's sweeps find what no wake-up told of.
"""

import threading
import warnings
from typing import Any

from celery import Celery
from celery.beat import EmbeddedService, Scheduler
from celery.platforms import SecurityWarning

CONCURRENCY = 2  # tasks at a time; one that asks many targets brings a pool of its own


class Background:
    """One worker and one beat, each in a thread."""

    def __init__(self, app: Celery) -> None:
        warnings.simplefilter("ignore", SecurityWarning)  # root may run it: tasks are JSON, and ours
        options = {"without_mingle": True, "without_gossip": True, "without_heartbeat": True, "quiet": True}
        self.worker: Any = app.Worker(pool="threads", concurrency=CONCURRENCY, **options)
        self.beat: Any = EmbeddedService(app, thread=True, scheduler_cls=Scheduler)  # its times need no file
        self.beat.daemon = True
        self.thread = threading.Thread(target=self.worker.start, name="worker", daemon=True)

    def start(self) -> None:
        """Begin taking tasks, and sending those of the schedule."""
        self.thread.start()
        self.beat.start()

    def stop(self) -> None:
        """Take no further task, and wait for those that run."""
        self.beat.service.stop(wait=False)  # between two ticks it only sleeps
        self.worker.stop()
        self.thread.join()
