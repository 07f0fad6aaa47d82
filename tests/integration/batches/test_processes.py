"""Do several workers, kills at any moment and a page that looks on find each action done once, and all counted?"""

import random
import re
import threading
from collections import Counter

import pytest

from audit import log
from audit.models import Record
from audit.verify import verify
from sideeffects import batches
from sideeffects.batches import Scope
from sideeffects.models import Batch, Effect, Request
from sideeffects.services import batch, batch_work
from sideeffects.services.record import Status
from sideeffects.workspace.models import Note
from tests import factories
from tests.batching import notes, retitled, started, told, worked
from tests.external import contact, registered
from tests.factories import later, person, planner
from tests.processes import beside, tell
from tests.sandbox import until

pytestmark = pytest.mark.django_db(transaction=True)

# Django is loaded once; `go` makes a worker by fork, which stops at the point it is given, `kill` kills it and says
# whether it still ran, and `wait` lets all that were made come to their end. Who made them waits for them: until then
# their numbers are nobody else's.
FORKS = """
import itertools, signal
from sideeffects.services import batch_work
from tests.external import WORKER
from tests.factories import later

batch_work.GROUPS = batch_work.RESTORED = int(sys.argv[1])

def stop(*_args, **_kwargs):
    print("here", flush=True)
    signal.pause()

def work():
    batch_work.work(by=WORKER, clock=lambda: later(hours=2))

def stopped_at(point):
    real, calls = getattr(batch_work, point), itertools.count()
    def second(*args, **kwargs):
        return real(*args, **kwargs) if next(calls) == 0 else stop()
    setattr(batch_work, point, second if point == "_turn" else stop)

children = []
print("up", flush=True)
for line in sys.stdin:
    word, _, point = line.strip().partition(" ")
    if word == "go":
        children.append(os.fork())
        if not children[-1]:
            if point:
                stopped_at(point)
            work()
            os._exit(0)
        print("gone", flush=True)
    elif word == "wait":
        print({os.waitpid(child, 0)[1] for child in children}, flush=True)
        children = []
    else:
        child = children.pop()
        os.kill(child, signal.SIGKILL)
        print("killed" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "done", flush=True)
"""
# After the batch is taken, before anything is taken back, when that is done and not kept, between two chunks, and at
# the very end.
POINTS = ("_who", "revoke", "_write", "_turn", "_finish")


@pytest.fixture(autouse=True)
def _a_target_that_nobody_calls(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    registered("http://127.0.0.1:9")


def line(process):
    assert process.stdout
    return process.stdout.readline().strip()


def story(by, conversation, *, size=6):
    """Let an agent do a bit of everything: what goes, what is built on, what fails, what is asked for, what is open."""
    where = {"conversation": conversation}
    first, *_, away = notes(by, size, **where)
    retitled(by, first, size + 1, **where)
    Note.objects.filter(pk=away.effects.get().object_id).update(owner=factories.user("bob"))
    contact(f"{conversation}-1", by=by, now=later(seconds=size + 2), **where)
    factories.report(by, [], status=Status.IN_FLIGHT, now=later(seconds=size + 3), **where)


def shape(row):
    """Return all that a batch has come to, without the keys that differ between one run and another."""
    items = [
        (
            item.outcome,
            item.refusal,
            re.sub(r"\d+", "#", item.detail),
            [*item.group.effects.values_list("state", flat=True)],
            item.group.revocations.count(),
            Request.objects.filter(effect__group=item.group).count(),
            Counter(Record.objects.filter(group=str(item.group_id)).values_list("action", flat=True)),
        )
        for item in batches.items(row)
    ]
    own = Record.objects.filter(target_type="batch", target_id=str(row.pk)).order_by("id")
    return items, [*own.values_list("action", flat=True)], told(row).groups, told(row).effects


def undisturbed(by, **sizes):
    """Return what a batch of the same story comes to when nothing happens to its worker."""
    story(by, "calm", **sizes)
    return shape(worked(started(Scope(conversation="calm"))))


def ended(row):
    """Work the batch to its end: what a killed worker held is free as soon as the database has noticed."""
    until(lambda: worked(row).state == "finished")
    return shape(row)


def check_log():
    log.seal()
    assert verify().verdict == "consistent"


@pytest.fixture
def forks():
    with beside(FORKS, 2) as process:
        assert line(process) == "up"
        yield process
        assert process.stdin
        process.stdin.close()


def go(forks, point=""):
    tell(forks, f"go {point}")
    assert line(forks) == "gone"


def kill(forks):
    tell(forks, "kill")
    return line(forks) == "killed"


def wait(forks):
    tell(forks, "wait")
    assert line(forks) == "{0}"


def test_killed_at_any_point_or_several_at_once_workers_come_to_the_same(monkeypatch, forks):
    monkeypatch.setattr(batch_work, "GROUPS", 2)
    by = planner()
    calm = undisturbed(by)
    story(by, "killed")
    row = started(Scope(conversation="killed"))
    for point in POINTS:
        go(forks, point)
        assert line(forks) == "here"
        told(row)
        assert kill(forks)
    assert told(row).waiting == 0
    assert ended(row) == calm
    story(by, "many")
    row = started(Scope(conversation="many"))
    for _ in range(4):
        go(forks)
    wait(forks)
    assert ended(row) == calm
    check_log()


def look(forks, polls, *, size, workers):
    """Look at a batch so many times while others work it, and again at its restore, in turns."""
    notes(planner(), size)
    between, row = 0, None
    for _ in range(polls):
        if row is None or row.state == "finished":
            row = again(row, forks)
            for _ in range(workers):
                go(forks)
        between += 0 < told(row).waiting < row.groups
    wait(forks)
    assert between > polls / 5


def again(row, forks):
    if row is not None:
        wait(forks)
        worked(row)
    if row is None or row.kind == Batch.Kind.RESTORE:
        return started()
    return batch.restore(batch=row.pk, by=person("alice"), now=later(hours=1), reason="")


def test_totals_add_up_at_every_look(forks):
    look(forks, 50, size=24, workers=1)


@pytest.mark.soak
def test_totals_add_up_at_a_thousand_looks_under_load(forks):
    look(forks, 1_000, size=120, workers=3)


@pytest.mark.soak
def test_a_hundred_random_kills_end_as_an_undisturbed_run(forks):
    by, chance = planner(), random.Random(4711)
    calm = undisturbed(by, size=60)
    kills = rounds = 0
    while kills < 100:
        rounds += 1
        story(by, f"wild {rounds}", size=60)
        row = started(Scope(conversation=f"wild {rounds}"))
        while Batch.objects.get(pk=row.pk).state == "working":
            go(forks)
            threading.Event().wait(chance.uniform(0.02, 0.3))
            told(row)
            kills += kill(forks)
        assert ended(row) == calm
    assert not Effect.objects.filter(group__batch_items__outcome="revoked").exclude(state="revoked").exists()
    check_log()
