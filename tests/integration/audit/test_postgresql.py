"""What of the log is there on PostgreSQL only: several writers at once, sessions that play replica?"""

import re
import threading

import pytest
from django.db import IntegrityError, InternalError, ProgrammingError, connection, transaction

from audit import log
from audit.models import Head, Record, Seal, Unsealed
from audit.verify import verify
from tests.entries import assert_whole, granted, sealed, write
from tests.factories import NOW
from tests.processes import ROOT, in_thread
from tests.tampering import settle


def execute(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_a_record_that_commits_after_younger_ones_gets_a_place_all_the_same():
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
def test_nothing_can_be_written_in_a_snapshot():
    with pytest.raises(InternalError, match="read-only transaction"), log.snapshot():
        log.append([granted()], now=NOW)


@pytest.mark.django_db
def test_a_replica_session_is_refused_too():
    """ENABLE ALWAYS: a session that plays replica walks past ordinary triggers."""
    sealed(1)
    settle(connection)
    execute("SET session_replication_role = replica")
    try:
        for statement in ("DELETE FROM audit_seal", "TRUNCATE audit_subject", "UPDATE audit_record SET id = id"):
            with pytest.raises(IntegrityError, match="is append-only"), transaction.atomic():
                execute(statement)
    finally:
        execute("SET session_replication_role = DEFAULT")


@pytest.mark.django_db
def test_the_roles_that_readme_gives_let_the_program_add_to_the_log_and_no_more():
    statements = re.search(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert statements
    execute(statements[1])
    execute("SET LOCAL ROLE takeback_app")
    sealed(3)
    assert verify().verdict == "consistent"
    settle(connection)
    for refused in (
        "UPDATE audit_record SET id = id",
        "DELETE FROM audit_seal",
        "TRUNCATE audit_subject",
        "ALTER TABLE audit_record DISABLE TRIGGER ALL",
        "DROP TRIGGER audit_record_no_change ON audit_record",
        "SET session_replication_role = replica",
    ):
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"), transaction.atomic():
            execute(refused)
