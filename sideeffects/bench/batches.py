"""How long does a batch take, how much of it is each effect, and what does it hold in memory?"""

import gc
import json
import multiprocessing
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection, connections, transaction
from django.test import Client

from audit.bench.place import NOW, Figure, figure
from sideeffects import actors
from sideeffects.bench.place import Place, Spent, Watch, counted_anew
from sideeffects.models import Effect, Group
from sideeffects.services.batch_work import GROUPS, chunk
from sideeffects.targets.history import HistoryAdapter
from sideeffects.targets.registry import adapter_for

SIZES = (10, 100, 1_000, 10_000)
TIMES, OFTEN = 3, 1_000  # how often each is measured, up to this size; the usual one is told
USUAL = 100  # effects in the batch whose cost of each is compared with that of larger ones
SAMPLE = 20  # actions taken back one by one
FEW, MANY = 10_000, 100_000  # effects in the batches whose memory is compared
OTHERS = int(os.environ.get("TAKEBACK_BENCH_EFFECTS", "100000"))  # in the table besides; a million takes some minutes


def sizes(place: Place) -> Iterator[Figure]:
    """Measure batches of single effects and of groups of eleven, beside what else could be done with their rows."""
    place.taken_back(place.filled(place.single, GROUPS))  # the first of a process loads and plans
    counted_anew()
    yield figure("one action through the API, of a sample", (alone := _one_by_one(place)) * 1000, "ms")
    yield from _statements(place)
    few = 0.0
    for size in SIZES:
        freezing, spent, bare = _usual(place, place.single, size)
        few = few if size > USUAL else spent.cpu / size
        case = f"{size} single effects"
        yield figure(f"{case}, beside one bare UPDATE of their rows", spent.clock * 1000, "ms", bare * 1000)
        yield figure(f"{case}, beside one by one through the API", spent.clock * 1000, "ms", alone * size * 1000)
        yield figure(f"{case}, freezing the selection", freezing.clock * 1000, "ms")
        beside = f"processor time of each, beside {min(size, USUAL)}"
        yield figure(f"{case}, {beside}", spent.cpu / size * 1000, "ms", few * 1000)
    _, spent, bare = _usual(place, place.eleven, 100)
    yield figure("100 groups of 11, beside one bare UPDATE a table", spent.clock * 1000, "ms", bare * 1000)
    yield figure("100 groups of 11, processor time", spent.cpu * 1000, "ms")


def beside_others(place: Place) -> Iterator[Figure]:
    """Measure a batch beside very many effects that are no part of it."""
    _, alone, _ = _usual(place, place.single, 1_000)
    there = 0
    for others in sorted({MANY, OTHERS}):
        place.filled(place.single, others - there)
        there = others
        counted_anew()
        _, spent, _ = _usual(place, place.single, 1_000)
        case = f"1000 single effects with {others} others, beside without"
        yield figure(case, spent.clock * 1000, "ms", alone.clock * 1000)
        yield figure(f"{case}, processor time", spent.cpu * 1000, "ms", alone.cpu * 1000)


def memory(place: Place) -> Iterator[Figure]:
    """Measure what a process holds at most that works a large batch, beside a smaller one."""
    few, many = (_peak(place, place.filled(place.single, size)) for size in (FEW, MANY))
    yield figure(f"peak memory of working {MANY} effects, beside {FEW}", many, "MB", few)


def _usual(place: Place, of: Group, size: int) -> tuple[Spent, Spent, float]:
    """Return what freezing and working a batch usually take, and a bare update of its rows."""
    found = []
    for _ in range(TIMES if size <= OFTEN else 1):
        conversation = place.filled(of, size)
        bare = _bare(conversation)
        found.append((*place.taken_back(conversation), bare))
    return sorted(found, key=lambda one: one[1].clock)[len(found) // 2]


def _bare(conversation: str) -> float:
    """Update the rows of a conversation and nothing else, undo that, and return how long it took."""
    ids: dict[str, list[str]] = {}
    for type_, key in Effect.objects.filter(group__conversation=conversation).values_list("type", "object_id"):
        ids.setdefault(type_, []).append(key)
    with transaction.atomic(), connection.cursor() as cursor:
        watch = Watch()
        for type_, keys in ids.items():
            adapter = adapter_for(type_)
            assert isinstance(adapter, HistoryAdapter)
            table = adapter.model._meta.db_table
            cursor.execute(
                f"UPDATE {table} SET deleted_at = %s, deleted_by = %s WHERE id IN ({', '.join(keys)})",  # noqa: S608  (our own numbers)
                [connection.ops.adapt_datetimefield_value(NOW), "bench"],
            )
        spent = watch.spent()
        transaction.set_rollback(True)
    return spent.clock


def _one_by_one(place: Place) -> float:
    """Return what one call of the API takes that takes one action back, without a network."""
    client = Client(HTTP_HOST=(settings.ALLOWED_HOSTS or ["localhost"])[0].lstrip("."))
    client.force_login(place.owner, backend="django.contrib.auth.backends.ModelBackend")
    keys = Group.objects.filter(conversation=place.filled(place.single, SAMPLE)).values_list("pk", flat=True)
    watch = Watch()
    for key in keys:
        answer = client.post(f"/api/v1/groups/{key}/revoke", json.dumps({}), content_type="application/json")
        assert answer.status_code == 200, answer.content[:500]  # noqa: PLR2004  (it was taken back)
    return watch.spent().clock / SAMPLE


def _statements(place: Place) -> Iterator[Figure]:
    few, many = (_statements_of(place, size) for size in (10, GROUPS))
    yield figure(f"statements of a chunk of {GROUPS} groups, beside one of 10", many, "statements", few)


def _statements_of(place: Place, size: int) -> int:
    batch, seen = place.frozen(place.filled(place.single, size)), list[str]()

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    by = actors.system("bench")
    with connection.execute_wrapper(note):
        assert chunk(batch.pk, size, by=by, now=NOW) == size
    while chunk(batch.pk, size, by=by, now=NOW):  # to its end
        pass
    return len(seen)


def _peak(place: Place, conversation: str) -> float:
    """Return what a process of its own holds at most that works this, in MB."""
    connections.close_all()
    gc.freeze()
    fork = multiprocessing.get_context("fork")
    told = fork.SimpleQueue()
    process = fork.Process(target=_work_and_tell, args=(place, conversation, told))
    process.start()
    process.join()
    assert process.exitcode == 0
    return float(told.get())


def _work_and_tell(place: Place, conversation: str, told: Any) -> None:
    place.taken_back(conversation)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    told.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)
    connections.close_all()
