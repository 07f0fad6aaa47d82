"""Does a long read see one moment, and hold nobody up?"""

import pytest
from django.db import connection, connections, transaction

from audit import log, rows, walk
from audit.models import Record
from audit.verify import verify
from tests.entries import granted, sealed, write
from tests.processes import in_thread

pytestmark = [pytest.mark.both]


@pytest.mark.django_db(transaction=True)
def test_writers_write_while_a_snapshot_is_read_and_it_does_not_see_them():
    sealed(3)
    with log.snapshot():
        assert Record.objects.count() == 3
        writer = in_thread(write_and_seal)
        writer.join(15)
        assert not writer.is_alive()
        assert Record.objects.count() == 3
    assert Record.objects.count() == 4


def write_and_seal():
    write(granted())
    log.seal()


@pytest.mark.django_db(transaction=True)
def test_the_moment_is_when_it_begins_not_when_it_is_first_read():
    with log.snapshot():
        writer = in_thread(write_and_seal)
        writer.join(15)
        assert Record.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_verifier_sees_one_size_while_records_arrive(monkeypatch):
    sealed(30)
    monkeypatch.setattr(walk, "ROWS", 10)
    grown: list[int] = []

    def write_between():
        if len(grown) < 3:
            writer = in_thread(write_and_seal)
            writer.join(15)
            grown.append(1)

    agrees = rows.agrees
    monkeypatch.setattr(walk, "agrees", lambda row: (write_between(), agrees(row))[1])
    verdict = verify()
    assert len(grown) == 3
    assert (verdict.verdict, verdict.size, verdict.checked, verdict.unsealed) == ("consistent", 30, 30, 0)
    assert verify().size == 33


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_within_another_transaction_is_refused():
    with pytest.raises(RuntimeError), transaction.atomic(), log.snapshot():
        pass


@pytest.mark.django_db(transaction=True)
def test_what_follows_a_snapshot_is_as_before_also_when_it_fails():
    with pytest.raises(KeyError), log.snapshot():
        raise KeyError
    write(granted())
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchone() == ("read committed",)
        else:
            assert vars(connections["default"])["transaction_mode"] == "IMMEDIATE"
    assert Record.objects.count() == 1
