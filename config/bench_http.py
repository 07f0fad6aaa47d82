"""What does a recorded call cost over HTTP, beside a bare view that inserts the same rows; and who waits for a verify?

Everything runs here: the server and the sealer in processes of their own, the clients in this one.
"""

import gc
import http.client
import json
import logging
import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import quantiles
from typing import Any

import waitress
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils.crypto import get_random_string

from audit import log
from audit.bench.fill import fill
from audit.bench.place import NOW, Figure, elsewhere, figure
from audit.verify import verify
from config.wsgi import application
from sideeffects import actors
from sideeffects.bench import revoking
from sideeffects.bench.place import Place
from sideeffects.models import Declaration, Effect, Group
from sideeffects.services import declare, tokens
from sideeffects.services.batch_work import work
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass

CLIENTS, WARM, SECONDS, PAIRS = 4, 3, 3.0, 3  # WARM: asked for by each client before
RECORDS = 40_000  # in the log that is verified while pages are asked for
PAUSE = 0.05  # seconds that a reader looks at a page
ENOUGH = 20_000  # effects in a batch that is worked meanwhile: it takes longer than looking at pages
TOOL = "crm.create_contact"


def record() -> Iterator[Figure]:
    """Measure recorded calls, beside a view that is given the same and inserts the same rows, without audit."""
    with elsewhere():
        secret = _token()
        with _served() as port, _served(_serve_bare) as bare_port, _beside(_seal):
            for members in (1, 11):
                pairs = [
                    (_rate(bare_port, secret, "/bare", members), _rate(port, secret, "/api/v1/tool-calls", members))
                    for _ in range(PAIRS)
                ]
                bare, recorded = sorted(pairs, key=lambda pair: pair[1] / pair[0])[PAIRS // 2]
                case = f"calls with {members} effects over HTTP, beside a bare view without audit"
                yield figure(case, recorded, "groups/s", bare)


def pages() -> Iterator[Figure]:
    """Measure how long pages take while a log is verified from end to end, beside the same while it is not."""
    with elsewhere():
        fill(settings.AUDIT_LOG, RECORDS)
        cookie = _cookie()
        with _served() as port:
            pairs = []
            for _ in range(PAIRS):
                idle = _p95(port, cookie)
                with _beside(_verify):
                    pairs.append((idle, _p95(port, cookie)))
    idle, busy = sorted(pairs, key=lambda pair: pair[1] / pair[0])[PAIRS // 2]
    yield figure("95th percentile of pages during a full verify, beside idle", busy * 1000, "ms", idle * 1000)


def revoke_batch() -> Iterator[Figure]:
    """Measure what taking back many actions costs, and how long pages take meanwhile."""
    with elsewhere():
        place = Place()
        yield from revoking(place)
        cookie = _cookie()
        with _served() as port:
            pairs = []
            for _ in range(PAIRS):
                place.frozen(place.filled(place.single, ENOUGH))
                idle = _p95(port, cookie)
                with _beside(_work_batches):
                    pairs.append((idle, _p95(port, cookie)))
    idle, busy = sorted(pairs, key=lambda pair: pair[1] / pair[0])[PAIRS // 2]
    yield figure("95th percentile of pages while a batch is worked, beside idle", busy * 1000, "ms", idle * 1000)


# -- In processes of their own ----------------------------------------------------------------------------------------


def bare(request: HttpRequest) -> HttpResponse:
    """Insert the rows of a recorded call: its group, its effects, what was declared."""
    asked = json.loads(request.body)
    owner = get_user_model()._default_manager.get()
    with transaction.atomic():
        group = Group.objects.create(
            owner=owner,
            tool=asked["tool"],
            conversation=asked["conversation"],
            key=get_random_string(64),
            fingerprint=get_random_string(64),
            state="landed",
            source="reported",
            opened_at=NOW,
            landed_at=NOW,
            opened_by="agent:planner",
        )
        Effect.objects.bulk_create(
            Effect(
                group=group,
                position=at,
                type=one["type"],
                object_id=one["id"],
                operation="create",
                state_at=NOW,
                revoke_class=RevokeClass.NONE,
            )
            for at, one in enumerate(asked["effects"])
        )
        Declaration.objects.create(
            group=group,
            digest=get_random_string(64),
            effects=asked["effects"],
            held=True,
            first_seen_at=NOW,
            last_seen_at=NOW,
            declared_by="agent:planner",
        )
    return HttpResponse(json.dumps({"id": str(group.pk)}), content_type="application/json", status=201)


urlpatterns = [path("bare", bare)]


def _serve(listening: socket.socket) -> None:
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that others wait their turn is what is measured
    waitress.create_server(application, sockets=[listening], threads=CLIENTS).run()


def _serve_bare(listening: socket.socket) -> None:
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    waitress.create_server(WSGIHandler(), sockets=[listening], threads=CLIENTS).run()


def _seal() -> None:
    while True:
        log.seal()
        time.sleep(PAUSE)


def _verify() -> None:
    while True:
        verify()


def _work_batches() -> None:
    work(by=actors.system("bench"), clock=lambda: NOW)


@contextmanager
def _beside(work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    connections.close_all()
    gc.freeze()
    process = multiprocessing.get_context("fork").Process(
        target=work, args=arguments, daemon=True
    )  # with the bench's database
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


@contextmanager
def _served(serve: Callable[[socket.socket], None] = _serve) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening, _beside(serve, listening):
        yield listening.getsockname()[1]


# -- Clients ----------------------------------------------------------------------------------------------------------


def _token() -> str:
    owner = get_user_model()._default_manager.create(**{get_user_model().USERNAME_FIELD: "alice"})
    by = actors.system("bench")
    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "DELETE /contacts/{id}"}
    )
    declare.declare_tool(name=TOOL, contract=contract, by=by, now=NOW)
    return tokens.create(agent="planner", owner=owner, scopes=["record"], by=by, now=NOW)[1]


def _cookie() -> str:
    client = Client()
    auditor = get_user_model()._default_manager.create(**{get_user_model().USERNAME_FIELD: "auditor"})
    client.force_login(auditor, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _rate(port: int, secret: str, address: str, members: int) -> float:
    """Return how many calls a second are answered to several clients that have the next one ready."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def ask(connection: http.client.HTTPConnection) -> None:
        key = get_random_string(12)
        effects = [{"type": "contact", "id": f"{key}{at}", "operation": "create"} for at in range(members)]
        call = {"tool": TOOL, "arguments": {"n": key}, "conversation": "c1", "status": "landed", "effects": effects}
        connection.request("POST", address, json.dumps(call), headers)
        _read(connection, 201)

    return len(_ask(port, ask)) / SECONDS


def _p95(port: int, cookie: str) -> float:
    """Return how long a page takes at most, of 19 in 20."""

    def ask(connection: http.client.HTTPConnection) -> None:
        connection.request("GET", "/", headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"})
        _read(connection, 200)

    return quantiles(_ask(port, ask, clients=1, pause=PAUSE), n=20)[-1]


def _read(connection: http.client.HTTPConnection, status: int) -> None:
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == status, content[:500]


def _ask(
    port: int, ask: Callable[[http.client.HTTPConnection], None], *, clients: int = CLIENTS, pause: float = 0
) -> list[float]:
    """Have clients ask for some seconds, and return what each answer took."""
    took, ready = list[float](), threading.Barrier(clients)

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(WARM):
            ask(connection)
        ready.wait()
        start = time.monotonic()
        while (began := time.monotonic()) < start + SECONDS:
            ask(connection)
            took.append(time.monotonic() - began)
            time.sleep(pause)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took
