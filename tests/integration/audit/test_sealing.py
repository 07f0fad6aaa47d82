"""Does every committed record get exactly one place, whoever seals and whenever?"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import log, tasks, tree
from audit.models import Head, Record, Seal, Unsealed
from audit.verify import verify
from tests.entries import assert_whole, granted, revoked, sealed, write
from tests.factories import NOW
from tests.processes import answer, beside, in_thread, tell

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
    sealed(1)
    write(*(granted(number) for number in range(10)))
    with CaptureQueriesContext(connection) as seen:
        assert log.seal() == 10
    assert_whole(11)
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


@pytest.mark.django_db(transaction=True)
def test_fifty_parallel_appends_from_several_processes_make_one_chain_without_gaps():
    """A1, with processes that each seal while the others append."""
    shares = (17, 17, 16)
    processes = [beside(APPEND, f"p{number}", share, "seal") for number, share in enumerate(shares)]
    for process in processes:
        tell(process, "go")
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
    counts: list[int] = []
    threads = [in_thread(lambda: counts.append(log.seal())) for _ in range(4)]
    for thread in threads:
        thread.join(60)
    assert sum(counts) == 400
    assert len(counts) == 4
    assert_whole(400)


@pytest.mark.django_db(transaction=True)
def test_killed_between_commit_and_seal_nothing_is_lost():
    process = beside(APPEND, "killed", 3, "die")
    tell(process, "go")
    answer(process, code=9)
    assert verify().verdict == "cannot tell"
    assert verify().unsealed == 3
    assert log.seal() == 3
    assert_whole(3)


SEAL = """
from audit import log
print("ready", flush=True)
sealed = 0
while not select.select([sys.stdin], [], [], 0.01)[0]:
    sealed += log.seal()
print(sealed + log.seal())
"""


def appenders(processes: int, each: int) -> None:
    """Have processes append while two more seal; then every record must have its one place, and the tree its root."""
    sealers = [beside(f"import select\n{SEAL}") for _ in range(2)]
    writers = [beside(APPEND, f"p{number}", each, "end") for number in range(processes)]
    for process in writers:
        tell(process, "go")
    for process in writers:
        answer(process)
    for process in sealers:
        tell(process, "stop")
    counts = [int(answer(process).split()[-1]) for process in sealers]
    assert sum(counts) + log.seal() == processes * each
    order = list(Seal.objects.order_by("seq").values_list("record__uid", flat=True))
    assert_whole(processes * each)
    assert verify().verdict == "consistent"
    assert verify().root == tree.tree_of("main", len(order)).root(len(order)).hex()
    assert list(Seal.objects.order_by("seq").values_list("record__uid", flat=True)) == order


@pytest.mark.django_db(transaction=True)
def test_a1_several_processes_append_and_two_seal():
    appenders(4, 80)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_a1_fifty_processes_append_and_two_seal():
    appenders(50, 20)
