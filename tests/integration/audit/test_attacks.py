"""Is every change that an owner of the database makes to the log found, named, and rightly called?"""

import json
import uuid

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from audit import chain, log
from audit.models import Record, Seal, Subject, Unsealed
from audit.verify import verify
from tests.entries import granted, revoked, sealed, write
from tests.factories import NOW, later

pytestmark = [pytest.mark.both, pytest.mark.django_db]

SIZE = 6
FAR = 1_000_000


@pytest.fixture
def records(tampering):
    """A log of six records, and no trigger in the way."""
    made = sealed(SIZE)
    assert verify().verdict == "consistent"
    with tampering():
        yield made


def seal_of(seq):
    return Seal.objects.filter(seq=seq)


def broken(kind, seq, uid=None):
    """The verdict must be `broken`, and the first bad record the one meant."""
    verdict = verify()
    fault = verdict.fault
    assert verdict.verdict == "broken"
    assert fault is not None
    assert (fault.kind, fault.seq) == (kind, seq), fault
    if uid is not None:
        assert fault.uid == str(uid)
    if seq is not None:
        assert verdict.checked == seq
    return fault


# -- A2: any column edited ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("action", "restored"),
        ("target_type", "task"),
        ("target_id", "9"),
        ("group", "g9"),
        ("actor", "user:eve"),
        ("owner", "user:eve"),
        ("outcome", "refused"),
        ("occurred_at", later(microseconds=1)),
        ("log", "other"),
        ("uid", uuid.UUID(int=5)),
    ],
)
def test_an_altered_lookup_column_is_named(records, column, value):
    Record.objects.filter(pk=records[3].pk).update(**{column: value})
    fault = broken("lookup altered", 3)
    assert column in fault.detail


def test_altered_bytes_are_named(records):
    row = Record.objects.get(pk=records[3].pk)
    Record.objects.filter(pk=row.pk).update(body=row.body.replace("alice", "bobby"))
    broken("changed", 3, records[3].uid)


def test_altered_bytes_with_their_leaf_hash_and_columns_adapted_are_named(records):
    row = Record.objects.get(pk=records[3].pk)
    body = row.body.replace("alice", "bobby")
    leaf = chain.leaf_hash(body.encode()).hex()
    Record.objects.filter(pk=row.pk).update(body=body, leaf_hash=leaf, actor="user:bobby", owner="user:bobby")
    broken("changed", 3, records[3].uid)


def test_bytes_that_are_no_record_any_more_are_named(records):
    leaf = chain.leaf_hash(b"[]").hex()
    Record.objects.filter(pk=records[5].pk).update(body="[]", leaf_hash=leaf)
    value = chain.link(bytes.fromhex(seal_of(4).get().chain), bytes.fromhex(leaf)).hex()
    seal_of(5).update(chain=value)
    broken("changed", 5)


def test_an_altered_leaf_hash_or_chain_value_is_named(records):
    Record.objects.filter(pk=records[4].pk).update(leaf_hash="0" * 64)
    broken("changed", 4, records[4].uid)
    seal_of(2).update(chain="0" * 64)
    broken("changed", 2, records[2].uid)


# -- Subjects -----------------------------------------------------------------------------------------------------


def test_a_record_hidden_from_one_of_its_members_is_named(records):
    Subject.objects.filter(record=records[3], object_type="task", object_id="3001").delete()
    assert "task 3001" in broken("lookup altered", 3, records[3].uid).detail


def test_a_record_that_is_found_by_a_stranger_is_named(records):
    Subject.objects.create(record=records[3], object_type="task", object_id="9")
    assert "task 9" in broken("lookup altered", 3, records[3].uid).detail


def test_a_subject_moved_to_another_record_is_named(records):
    Subject.objects.filter(record=records[2], object_id="2001").update(record=records[4])
    broken("lookup altered", 2)


# -- A3: edit, delete, reorder ------------------------------------------------------------------------------------


def test_a_deleted_record_is_named_missing(records):
    seal_of(3).delete()
    Subject.objects.filter(record=records[3]).delete()
    Record.objects.filter(pk=records[3].pk).delete()
    broken("missing", 3)


def test_a_record_deleted_under_its_seal_is_named_missing(records):
    """No constraint within the log has to be taken away for that."""
    Record.objects.filter(pk=records[5].pk)._raw_delete("default")
    broken("missing", 5)


def test_a_deleted_record_is_found_though_the_numbers_were_closed_up(records):
    seal_of(3).delete()
    Seal.objects.filter(seq=4).update(seq=3)
    Seal.objects.filter(seq=5).update(seq=4)
    Subject.objects.filter(record=records[3]).delete()
    Record.objects.filter(pk=records[3].pk).delete()
    assert "taken out" in broken("changed", 3).detail


def test_the_first_record_deleted_is_named_missing(records):
    seal_of(0).delete()
    broken("missing", 0)


def test_two_records_that_changed_places_are_named(records):
    one, two = seal_of(2).get(), seal_of(4).get()
    seal_of(4).delete()
    Seal.objects.filter(pk=one.pk).update(record_id=two.record_id)
    Seal.objects.create(log="main", seq=4, record_id=one.record_id, chain=two.chain)
    fault = broken("reordered", 2, records[4].uid)
    assert "place 4" in fault.detail


@pytest.mark.parametrize(("first", "second"), [(2, 3), (1, 4), (0, 5)])
def test_two_places_that_were_exchanged_with_their_chain_values_are_named(records, first, second):
    seal_of(first).update(seq=FAR)
    seal_of(second).update(seq=first)
    seal_of(FAR).update(seq=second)
    fault = broken("reordered", first, records[second].uid)
    assert f"place {second}" in fault.detail


def test_a_record_moved_to_the_end_is_named(records):
    seal_of(2).update(seq=SIZE)
    for seq in range(3, SIZE + 1):
        seal_of(seq).update(seq=seq - 1)
    broken("reordered", 2, records[3].uid)


# -- Inserted, duplicate ------------------------------------------------------------------------------------------


def forge(seq, *, value="", entry=None):
    """Put a record of one's own at a place, moving the others up."""
    for moved in range(SIZE - 1, seq - 1, -1):
        seal_of(moved).update(seq=moved + 1)
    [record] = write(entry or granted(99))
    Unsealed.objects.all().delete()
    before = seal_of(seq - 1).get().chain
    value = value or chain.link(bytes.fromhex(before), bytes.fromhex(record.leaf_hash)).hex()
    Seal.objects.create(log="main", seq=seq, record=record, chain=value)
    return record


def test_a_record_put_in_between_is_named(records):
    forged = forge(3, value="0" * 64)
    broken("inserted", 3, forged.uid)


def test_a_record_put_in_between_with_a_chain_value_that_fits_is_named(records):
    forge(3)
    verdict = verify()
    assert verdict.fault is not None
    assert (verdict.verdict, verdict.fault.kind, verdict.fault.seq) == ("broken", "inserted", 3)


def test_a_record_without_a_place_that_waits_for_none_is_named(records):
    [record] = write(granted())
    Unsealed.objects.all().delete()
    broken("inserted", None, record.uid)


def test_a_record_that_waits_in_the_queue_is_checked_too(records):
    [record] = write(granted())
    Record.objects.filter(pk=record.pk).update(actor="user:eve")
    broken("lookup altered", None, record.uid)


def test_a_record_that_stands_at_two_places_is_named(records):
    with connection.cursor() as cursor:
        _drop_unique(cursor, "audit_seal", ["record_id"])
        for moved in range(SIZE - 1, 2, -1):
            seal_of(moved).update(seq=moved + 1)
        Seal.objects.create(log="main", seq=3, record=records[1], chain="0" * 64)
    broken("duplicate", 3, records[1].uid)


def test_a_place_that_is_taken_twice_is_named(records):
    with connection.cursor() as cursor:
        _drop_unique(cursor, "audit_seal", ["log", "seq"])
        seal_of(4).update(seq=3)
    fault = verify().fault
    assert fault is not None
    assert (fault.kind, fault.seq) == ("duplicate", 3)


def test_a_copy_at_the_end_that_fits_the_chain_is_named(records):
    with connection.cursor() as cursor:
        _drop_unique(cursor, "audit_record", ["uid"])
    row = Record.objects.get(pk=records[2].pk)
    old = row.pk
    row.pk = None
    row.save(force_insert=True)
    subjects = Subject.objects.filter(record_id=old)
    Subject.objects.bulk_create(
        [Subject(record=row, object_type=one.object_type, object_id=one.object_id) for one in subjects]
    )
    Unsealed.objects.create(record=row)
    log.seal()
    assert "uid" in broken_at_the_end(records[2].uid).detail


def broken_at_the_end(uid):
    verdict = verify()
    assert verdict.fault is not None
    assert (verdict.verdict, verdict.fault.kind, verdict.fault.uid) == ("broken", "duplicate", str(uid))
    return verdict.fault


def test_a_copy_with_a_uid_of_its_own_is_named(records):
    row = Record.objects.get(pk=records[2].pk)
    row.pk, row.uid = None, uuid.UUID(int=9)
    row.save(force_insert=True)
    Unsealed.objects.create(record=row)
    log.seal()
    broken("lookup altered", SIZE, row.uid)


def _drop_unique(cursor, table, columns):
    """Do what an owner of the database can: take a unique key away."""
    if connection.vendor == "postgresql":
        found = connection.introspection.get_constraints(cursor, table)
        name = next(name for name, key in found.items() if key["unique"] and key["columns"] == columns)
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        return
    cursor.execute("SELECT sql FROM sqlite_master WHERE name = %s", [table])
    [sql] = cursor.fetchone()
    if columns == ["log", "seq"]:
        loose = sql.replace('CONSTRAINT "audit_seal_place" UNIQUE ("log", "seq")', "CHECK (1)")
    else:
        at = sql.index(f'"{columns[0]}"')
        loose = sql[:at] + sql[at:].replace(" UNIQUE", "", 1)
    assert loose != sql
    names = ", ".join(f'"{field.column}"' for field in {"audit_seal": Seal, "audit_record": Record}[table]._meta.fields)
    cursor.execute("PRAGMA defer_foreign_keys = ON")
    cursor.execute(f"CREATE TABLE kept AS SELECT * FROM {table}")
    cursor.execute(f"DROP TABLE {table}")
    cursor.execute(loose)
    cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM kept")
    cursor.execute("DROP TABLE kept")


# -- What is not broken -------------------------------------------------------------------------------------------


def test_an_empty_log_is_never_called_anything_but_unknown():
    verdict = verify()
    assert (verdict.verdict, verdict.size, verdict.fault) == ("cannot tell", 0, None)


def test_a_log_with_everything_taken_away_is_never_called_good(records):
    Seal.objects.all().delete()
    Subject.objects.all().delete()
    Record.objects.all().delete()
    assert verify().verdict == "cannot tell"


def test_all_places_taken_away_from_records_that_stand_is_broken(records):
    Seal.objects.all().delete()
    broken("inserted", None, records[0].uid)


def test_records_in_the_queue_are_counted_with_the_age_of_the_oldest():
    sealed(2)
    write(granted(), now=later(minutes=-5))
    write(granted(), now=NOW)
    verdict = verify()
    assert (verdict.verdict, verdict.size, verdict.unsealed) == ("consistent", 2, 2)
    assert verdict.oldest_unsealed_at == later(minutes=-5)


def test_parts_of_a_long_record_verify():
    write(revoked(tasks=3_000, title="x" * 20))
    log.seal()
    assert Record.objects.count() > 1
    assert verify().verdict == "consistent"


def test_out_of_time_is_not_an_opinion(monkeypatch):
    sealed(3)
    verdict = verify(seconds=-1)
    assert (verdict.verdict, verdict.checked, verdict.size, verdict.fault) == ("cannot tell", 0, 3, None)


def test_the_head_is_what_an_auditor_can_compute_from_the_bodies_alone():
    sealed(4)
    value = chain.start("main")
    for body in Record.objects.order_by("seal__seq").values_list("body", flat=True):
        value = chain.link(value, chain.leaf_hash(body.encode()))
        assert json.loads(body)["log"] == "main"
    assert verify().head == value.hex()


# -- What a database lets columns hold ----------------------------------------------------------------------------


def test_a_subject_that_reads_like_two_is_named(records):
    """Two objects taken away, and one put in whose text looks like both of them."""
    Subject.objects.filter(record=records[3], object_type="task").delete()
    Subject.objects.create(record=records[3], object_type="task", object_id='3000"],["task","3001')
    broken("lookup altered", 3, records[3].uid)


def test_a_subject_with_escapes_is_compared_by_what_it_means(tampering):
    write(revoked(subjects=[("task", 'a"b'), ("task", "c\\d")]))
    log.seal()
    assert verify().verdict == "consistent"
    with tampering():
        Subject.objects.filter(object_id='a"b').update(object_id='a\\"b')
        broken("lookup altered", 0)


def test_a_body_that_cannot_be_read_though_all_hashes_fit_is_named(tampering):
    [record] = write(granted())
    with tampering():
        text = record.body.replace('{"role":"auditor"}', '{"role":auditor}')
        leaf = chain.leaf_hash(text.encode()).hex()
        Record.objects.filter(pk=record.pk).update(body=text, leaf_hash=leaf)
        log.seal()
        broken("changed", 0)


def test_what_waits_for_its_place_costs_no_query_each(tampering):
    counts = []
    for _ in range(2):
        made = write(*(revoked(number) for number in range(10)))
        with CaptureQueriesContext(connection) as seen:
            assert verify().fault is None
        counts.append(len(seen))
    assert counts[0] == counts[1]
    with tampering():
        Record.objects.filter(pk=made[7].pk).update(action="restored")
        broken("lookup altered", None, made[7].uid)


@pytest.mark.parametrize(
    ("column", "kind"),
    [("body", "changed"), ("action", "lookup altered"), ("uid", "lookup altered"), ("occurred_at", "lookup altered")],
)
def test_bytes_that_are_no_text_are_named_where_the_database_takes_them(column, kind, records):
    """SQLite takes them, PostgreSQL refuses."""
    if connection.vendor == "postgresql":
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE audit_record SET {column} = E'\\xff' WHERE id = %s", [records[2].pk])
        return
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE audit_record SET {column} = CAST(x'61ff62' AS TEXT) WHERE id = %s", [records[2].pk])
    broken(kind, 2)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE audit_seal SET chain = 'zz' WHERE seq = 1")
    broken("changed", 1, records[1].uid)
