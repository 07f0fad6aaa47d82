"""Does every committed record get exactly one place, whoever seals and whenever?"""

import threading
from itertools import pairwise

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from audit import chain, log, tasks
from audit.models import Head, Record, Seal, Unsealed
from audit.verify import verify
from tests.entries import granted, revoked, sealed, write
from tests.factories import NOW
from tests.processes import answer, beside

pytestmark = [pytest.mark.both]

APPEND = """
from django.db import transaction
from audit import log
from tests.entries import granted, NOW
name, count, ending = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.stdin.readline()
for number in range(count):
    with transaction.atomic():
        log.append([granted(number, group=name)], now=NOW)
    if ending == "seal":
        log.seal()
if ending == "die":
    os._exit(9)
"""


def places():
    return list(Seal.objects.order_by("seq").values_list("seq", "chain", "record__leaf_hash"))


def assert_whole(count):
    """Every place once, from 0 on, each bound to the one before."""
    found = places()
    assert [seq for seq, _, _ in found] == list(range(count))
    before = [chain.start("main").hex(), *(value for _, value, _ in found)]
    for (earlier, later), (_, _, leaf) in zip(pairwise(before), found, strict=True):
        assert chain.link(bytes.fromhex(earlier), bytes.fromhex(leaf)).hex() == later


@pytest.mark.django_db
def test_places_go_without_gaps_and_the_queue_is_empty_afterwards():
    write(*(revoked(number) for number in range(3)))
    assert log.seal() == 3
    write(granted())
    assert log.seal() == 1
    assert log.seal() == 0
    assert_whole(4)
    assert not Unsealed.objects.exists()


@pytest.mark.django_db
def test_idle_sealing_costs_one_query_and_no_lock(django_assert_num_queries):
    sealed(2)
    with django_assert_num_queries(1):
        assert log.seal() == 0


@pytest.mark.django_db
def test_a_backlog_is_sealed_in_bounded_goes(monkeypatch):
    monkeypatch.setattr(log, "GO", 4)
    write(*(granted(number) for number in range(10)))
    with CaptureQueriesContext(connection) as seen:
        assert log.seal() == 10
    assert_whole(10)
    assert sum("audit_head" in query["sql"] and "SELECT" in query["sql"] for query in seen) == 3


@pytest.mark.django_db
def test_logs_have_places_and_chains_of_their_own(settings):
    sealed(2)
    settings.AUDIT_LOG = "demo"
    write(granted())
    assert log.seal() == 1
    assert Seal.objects.get(log="demo").seq == 0
    assert Seal.objects.get(log="demo").chain != Seal.objects.get(log="main", seq=0).chain
    assert set(Head.objects.values_list("log", flat=True)) == {"main", "demo"}
    assert verify("demo").verdict == verify("main").verdict == "consistent"


@pytest.mark.django_db
def test_a_record_put_into_the_queue_again_keeps_its_one_place():
    [record] = sealed(1)
    Unsealed.objects.create(record=record)
    assert log.seal() == 0
    assert_whole(1)
    assert not Unsealed.objects.exists()


@pytest.mark.django_db
def test_the_task_seals():
    write(granted())
    tasks.seal()
    assert_whole(1)


def in_thread(function):
    """Run it in a thread that closes its own connections."""

    def run():
        try:
            function()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.django_db(transaction=True)
def test_a_record_that_commits_after_younger_ones_gets_a_place_all_the_same():
    if connection.vendor == "sqlite":
        assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"  # so ids commit in order there
        return
    written, go_on = threading.Event(), threading.Event()

    def slow():
        with transaction.atomic():
            log.append([granted(1)], now=NOW)
            written.set()
            assert go_on.wait(10)

    thread = in_thread(slow)
    assert written.wait(10)
    write(granted(2))
    assert log.seal() == 1
    go_on.set()
    thread.join(10)
    assert log.seal() == 1
    order = list(Seal.objects.order_by("seq").values_list("record__target_id", flat=True))
    assert order == ["2", "1"]
    assert Record.objects.get(target_id="1").pk < Record.objects.get(target_id="2").pk
    assert_whole(2)
    assert verify().verdict == "consistent"


@pytest.mark.django_db(transaction=True)
def test_while_one_seals_another_that_need_not_wait_leaves_it_the_work():
    write(granted())
    if connection.vendor == "sqlite":
        assert log.seal(wait=False) == 1  # SQLite has one writer: there is never another sealer at it
        return
    locked, go_on = threading.Event(), threading.Event()

    def hold():
        Head.objects.bulk_create([Head(log="main")], ignore_conflicts=True)
        with transaction.atomic():
            Head.objects.select_for_update().get(log="main")
            locked.set()
            assert go_on.wait(10)

    thread = in_thread(hold)
    assert locked.wait(10)
    assert log.seal(wait=False) == 0
    assert Unsealed.objects.count() == 1
    go_on.set()
    assert log.seal() == 1
    thread.join(10)


@pytest.mark.django_db(transaction=True)
def test_fifty_parallel_appends_from_several_processes_make_one_chain_without_gaps():
    """A1, with processes that each seal while the others append."""
    shares = (17, 17, 16)
    processes = [beside(APPEND, f"p{number}", share, "seal") for number, share in enumerate(shares)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        answer(process)
    log.seal()
    assert Record.objects.count() == 50
    assert_whole(50)
    verdict = verify()
    assert (verdict.verdict, verdict.checked, verdict.unsealed) == ("consistent", 50, 0)
    for number, share in enumerate(shares):
        mine = Record.objects.filter(group=f"p{number}").order_by("seal__seq").values_list("target_id", flat=True)
        assert list(mine) == [str(written) for written in range(share)]
    assert set(Record.objects.values_list("occurred_at", flat=True)) == {NOW}


@pytest.mark.django_db(transaction=True)
def test_sealers_in_parallel_give_each_record_one_place(monkeypatch):
    write(*(granted(number) for number in range(400)))
    monkeypatch.setattr(log, "GO", 20)
    counts = []
    threads = [in_thread(lambda: counts.append(log.seal())) for _ in range(4)]
    for thread in threads:
        thread.join(60)
    assert sum(counts) == 400
    assert len(counts) == 4
    assert_whole(400)


@pytest.mark.django_db(transaction=True)
def test_killed_between_commit_and_seal_nothing_is_lost():
    process = beside(APPEND, "killed", 3, "die")
    process.stdin.write("go\n")
    answer(process, code=9)
    assert verify().verdict == "cannot tell"
    assert verify().unsealed == 3
    assert log.seal() == 3
    assert_whole(3)
