"""How does the console hear that work has settled? Signed by Standard Webhooks, told again while nobody answers."""

import base64
import hashlib
import hmac
import json
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from config.sandbox.store import Job, Store

TRIES = 6
FIRST_WAIT = 0.5  # seconds before the second try; doubled for each further one
SENDERS = 2


@dataclass(frozen=True)
class Message:
    """One callback: the same id at every try, so that it counts once."""

    body: bytes
    id: str = field(default_factory=lambda: f"msg_{uuid.uuid4().hex}")


def message(job: Job, *, status: str, at: str) -> Message:
    """Return what is said about a job."""
    said: dict[str, object] = {
        "request": job.request,
        "object": {"collection": job.collection, "id": job.id},
        "status": status,
        "at": at,
    }
    if status == "failed":
        said["reason"] = job.fails or "it could not be undone"
    return Message(json.dumps(said).encode())


def time_text(seconds: float) -> str:
    """Return a time of the clock as RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def signed(message: Message, *, secret: str, now: float) -> dict[str, str]:
    """Return the headers of Standard Webhooks."""
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    stamp = str(int(now))
    content = b".".join((message.id.encode(), stamp.encode(), message.body))
    digest = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"webhook-id": message.id, "webhook-timestamp": stamp, "webhook-signature": f"v1,{digest}"}


class Teller:
    """Settles work when its time has come, and tells the console; its threads end with the process."""

    def __init__(self, store: Store, *, url: str, secret: str, stopping: threading.Event) -> None:
        self._store, self._url, self._secret, self._stopping = store, url, secret, stopping
        self._queue: queue.SimpleQueue[tuple[Message, int]] = queue.SimpleQueue()
        self._calls, self._generation, self._ended = 0, 0, threading.Condition()
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def start(self) -> None:
        """Begin."""
        for work in (self._settle, *[self._send] * SENDERS):
            threading.Thread(target=work, daemon=True).start()

    def once(self, message: Message, generation: int | None = None) -> int:
        """Send now and return the console's status; 0 where it cannot be reached or there is nobody to tell.

        Of a generation that was hushed nothing is sent; that is 410.
        """
        if not self._url:
            return 0
        headers = {"Content-Type": "application/json", **signed(message, secret=self._secret, now=time.time())}
        request = urllib.request.Request(self._url, data=message.body, headers=headers, method="POST")  # noqa: S310  (given at the start)
        with self._ended:
            if generation not in {None, self._generation}:
                return 410
            self._calls += 1
        try:
            with self._opener.open(request, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except (OSError, ValueError):
            return 0
        finally:
            with self._ended:
                self._calls -= 1
                self._ended.notify_all()

    def hush(self) -> None:
        """Tell nothing any more of what has settled so far, and wait for what is being told."""
        with self._ended:
            self._generation += 1
            self._ended.wait_for(lambda: not self._calls, timeout=10)

    def _settle(self) -> None:
        store = self._store
        while not self._stopping.is_set():
            with store.lock:
                due = store.next_due()
                if not store.settled and (due is None or due > store.clock()):
                    store.lock.wait(None if due is None else max(due - store.clock(), 0.001))
                store.settle_due()
                settled, store.settled = store.settled, []
                if settled:
                    store.keep()
                generation = self._generation
            for job in settled:
                self._queue.put((message(job, status=job.status, at=time_text(job.due)), generation))

    def _send(self) -> None:
        while True:
            self._tell(*self._queue.get())

    def _tell(self, said: Message, generation: int) -> None:
        for turn in range(TRIES):
            status = self.once(said, generation)
            if not self._url or (status and status < 500 and status != 404):  # noqa: PLR2004  (404: it may not know the request yet)
                return
            if self._stopping.wait(FIRST_WAIT * 2**turn):
                return
        print(f"{said.id} was told {TRIES} times and not heard", file=sys.stderr, flush=True)  # noqa: T201  (a program)
