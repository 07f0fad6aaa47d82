"""Is a change recorded exactly when it happens, by who asked, and never without it?"""

import json
import socket
import threading
import time
from itertools import pairwise
from queue import Queue
from types import SimpleNamespace

import pytest
from celery import current_app
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from kombu.transport.memory import Channel

from audit import insert, log, wake
from audit.chain import BadBodyError
from audit.models import Record, Subject, Unsealed
from audit.verify import verify
from tests.entries import ALICE, PLANNER, granted, revoked, uids, write
from tests.factories import NOW

pytestmark = [pytest.mark.both]


def change(*entries):
    """Change something and record it, as a service does."""
    with transaction.atomic():
        get_user_model().objects.create(username="eve")
        log.append(entries, now=NOW)


def regret():
    """Record something, then fail."""
    with transaction.atomic():
        log.append([granted()], now=NOW)
        _ = 1 / 0


@pytest.mark.django_db(transaction=True)
def test_a_record_apart_from_what_it_records_is_refused():
    with pytest.raises(log.OutsideTransactionError):
        log.append([granted()], now=NOW)
    assert not Record.objects.exists()


@pytest.mark.django_db
def test_records_come_with_their_subjects_and_wait_for_their_seal():
    [record] = write(revoked(actor=PLANNER))
    assert record.pk
    assert record.uid.version == 7
    found = set(Subject.objects.filter(record=record).values_list("object_type", "object_id"))
    assert found == {("project", "1"), ("task", "1000"), ("task", "1001"), ("user", "1"), ("agent", "7")}
    assert list(Unsealed.objects.values_list("record_id", flat=True)) == [record.pk]


@pytest.mark.django_db
def test_a_list_of_entries_costs_as_many_statements_as_one(django_assert_num_queries):
    statements = 1 if connection.vendor == "postgresql" else 3
    with django_assert_num_queries(statements):
        log.append([granted()], now=NOW)
    with django_assert_num_queries(statements):
        log.append([granted(number) for number in range(60)], now=NOW)


@pytest.mark.django_db
def test_more_than_fits_into_one_statement_is_written_all_the_same(monkeypatch):
    monkeypatch.setattr(insert, "MOST", 100)
    written = write(*(revoked(number) for number in range(20)), revoked(20, tasks=50))
    assert [record.target_id for record in written] == [str(number) for number in range(21)]
    assert [str(record.uid) for record in Record.objects.order_by("id")] == uids(written)
    assert Subject.objects.filter(record=written[-1].pk).count() == 52
    assert Unsealed.objects.count() == 21
    log.seal()
    assert verify().verdict == "consistent"


@pytest.mark.django_db
def test_an_entry_in_parts_is_stood_for_by_its_first_part_and_each_member_finds_its_own():
    first, after = write(revoked(tasks=3_000, title="x" * 20), granted())
    parts = list(Record.objects.filter(action="COMPENSATE").order_by("id"))
    assert len(parts) > 1
    assert first == parts[0]
    assert after.action == "role_granted"
    found = Record.objects.get(subjects__object_type="task", subjects__object_id="12999")
    assert found == parts[-1]
    assert json.loads(found.body)["part"]["first"] == str(first.uid)
    assert Record.objects.filter(subjects__object_type="record", subjects__object_id=first.uid).count() == len(parts)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", [Record, Subject, Unsealed])
def test_a_record_that_cannot_be_written_undoes_its_change(table):
    """A8: wherever in the append it fails, the caller's change goes with it."""

    def broken(execute, sql, *rest):
        if table._meta.db_table in sql:
            raise OSError("no room on the device")
        return execute(sql, *rest)

    with connection.execute_wrapper(broken), pytest.raises(OSError, match="no room"):
        change(granted())
    assert not get_user_model().objects.filter(username="eve").exists()
    assert not Record.objects.exists()
    assert not Subject.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_refused_entry_undoes_its_change_and_the_entries_beside_it():
    with pytest.raises(BadBodyError):
        change(granted(), granted(data={"role": "a\0b"}))
    assert not get_user_model().objects.filter(username="eve").exists()
    assert not Record.objects.exists()


@pytest.mark.django_db
def test_the_actor_is_who_asked_whoever_else_is_around():
    """A9: nothing is taken from a request, a thread or the owner."""
    with transaction.atomic():
        log.append([granted(actor=ALICE), granted(actor=PLANNER, owner=ALICE)], now=NOW)
    said = Record.objects.order_by("id").values_list("actor", "owner")
    assert list(said) == [("user:alice", ""), ("agent:planner", "user:alice")]


@pytest.mark.django_db(transaction=True)
def test_the_sealer_is_woken_once_per_transaction_and_only_after_its_commit(monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr(wake, "wake", woken.append)
    monkeypatch.setattr(log, "_wake_sealer", lambda: wake.wake("audit.seal"))
    with transaction.atomic():
        log.append([granted()], now=NOW)
        with pytest.raises(ZeroDivisionError):
            regret()
        log.append([granted(), granted()], now=NOW)
        assert woken == []
    assert woken == ["audit.seal"]


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_wakes_nobody(monkeypatch):
    woken: list[str] = []
    monkeypatch.setattr(log, "_wake_sealer", lambda: woken.append("audit.seal"))
    with pytest.raises(ZeroDivisionError):
        regret()
    assert woken == []


def test_under_load_a_task_is_published_ever_less_often_and_no_other_waits_for_it(monkeypatch):
    clock, sent = [0.0], list[tuple[str, float]]()

    def wait(_seconds):
        clock[0] += 0.01
        wake._wanted.update({"audit.seal", *(["other"] if 5 <= clock[0] < 5.01 else [])})
        if clock[0] > 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(wake, "_wanted", set())
    monkeypatch.setattr(wake, "_asked", SimpleNamespace(wait=wait, clear=lambda: None))
    monkeypatch.setattr(wake, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(wake, "_send", lambda task: sent.append((task, clock[0])))
    with pytest.raises(KeyboardInterrupt):
        wake._publish()
    rests = [round(later - earlier, 3) for earlier, later in pairwise(at for task, at in sent if task == "audit.seal")]
    assert rests[:5] == sorted(rests[:5])
    assert rests[0] == pytest.approx(wake.REST, abs=0.02)
    assert rests[-1] == pytest.approx(wake.LONG_REST, abs=0.02)
    assert [at for task, at in sent if task == "other"] == [pytest.approx(5, abs=0.02)]


def test_where_no_worker_empties_the_broker_in_memory_wake_ups_do_not_pile_up(monkeypatch):
    """A long import, or a web server alone with the default broker."""
    waiting: Queue[str] = Queue()
    app = SimpleNamespace(
        conf=SimpleNamespace(task_default_queue="celery"), send_task=lambda task, **_: waiting.put(task)
    )
    monkeypatch.setattr(wake, "current_app", app)
    monkeypatch.setattr(Channel, "queues", {"celery": waiting})
    for _ in range(3 * wake.ENOUGH):
        wake._send("audit.seal")
    assert waiting.qsize() == wake.ENOUGH


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_hangs_holds_no_request_up(monkeypatch):
    """It accepts the connection and never answers, as a frozen Redis does."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        broker = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        asked = threading.Event()

        def send_task(name, **options):
            asked.set()
            with current_app.connection_for_write(broker) as hanging:
                hanging.transport_options = {"socket_timeout": 5, "socket_connect_timeout": 5}
                current_app.tasks["audit.seal"].apply_async(connection=hanging, retry=False)

        monkeypatch.setattr(current_app, "send_task", send_task)
        began = time.monotonic()
        write(granted())
        took = time.monotonic() - began
        assert asked.wait(5)
    assert took < 2
    assert Record.objects.count() == 1


@pytest.mark.django_db
def test_times_survive_the_round_trip_to_the_microsecond():
    at = NOW.replace(microsecond=123_457)
    write(granted(), now=at)
    record = Record.objects.get()
    assert record.occurred_at == at
    assert json.loads(record.body)["occurred_at"] == "2026-11-30T12:00:00.123457Z"


@pytest.mark.django_db
def test_text_of_any_script_comes_back_as_the_bytes_that_were_hashed():
    [record] = write(granted(data={"role": 'ü🎉\u202e"\\\n\u2028\x7f'}))
    stored = Record.objects.get()
    assert stored.body == record.body
    assert json.loads(stored.body)["data"]["role"] == 'ü🎉\u202e"\\\n\u2028\x7f'
    assert connection.vendor in {"postgresql", "sqlite"}
