"""Does the database itself refuse to change the log?"""

from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from audit import triggers
from audit.models import Checkpoint, Head, Record, Seal, Subject, Tile, Unsealed
from tests.entries import a_row_of_each, sealed
from tests.tampering import settle

pytestmark = [pytest.mark.both, pytest.mark.django_db]

APPEND_ONLY = ["audit_record", "audit_subject", "audit_seal", "audit_tile", "audit_checkpoint"]
MODELS: list[Any] = [Record, Subject, Seal, Tile, Checkpoint]


def refused(statement, table):
    with pytest.raises(IntegrityError, match=f"{table} is append-only"), transaction.atomic():
        run(statement)


def run(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def counts():
    return [model.objects.count() for model in MODELS]


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("statement", ["UPDATE {} SET id = id", "DELETE FROM {}", "DELETE FROM {} WHERE id > 0"])
def test_update_and_delete_are_refused_by_name(table, statement):
    a_row_of_each(2)
    before = counts()
    refused(statement.format(table), table)
    assert counts() == before


@pytest.mark.parametrize("model", MODELS)
def test_the_model_layer_is_refused_too(model):
    a_row_of_each(1)
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.all()._raw_delete("default")
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.update(id=5)
    row = model.objects.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_emptying_a_table_at_once_is_refused(table):
    """A7: TRUNCATE on PostgreSQL; on SQLite the DELETE without a condition that takes its place is refused above."""
    a_row_of_each(1)
    if connection.vendor == "sqlite":
        refused(f"DELETE FROM {table}", table)
        return
    settle(connection)
    refused(f"TRUNCATE {table} CASCADE", table)


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_a_row_cannot_be_replaced_by_an_insert(table):
    """INSERT OR REPLACE deletes without firing a DELETE trigger; ON CONFLICT DO UPDATE is an update."""
    a_row_of_each(1)
    if connection.vendor == "sqlite":
        refused(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1", table)
        return
    again = f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1 ON CONFLICT (id) DO UPDATE SET id = excluded.id"
    refused(again, table)


@pytest.mark.parametrize("columns", [columns for table in APPEND_ONLY for columns in triggers.UNIQUE[table]])
def test_every_unique_key_is_guarded_against_replacing(columns):
    """A new id with an old uid replaces as well."""
    a_row_of_each(2)
    table = next(table for table in APPEND_ONLY if columns in triggers.UNIQUE[table])
    if connection.vendor == "postgresql":
        keys = connection.introspection.get_constraints(connection.cursor(), table).values()
        assert any(key["unique"] and sorted(key["columns"]) == sorted(columns) for key in keys)
        return
    model = next(model for model in apps.get_app_config("audit").get_models() if model._meta.db_table == table)
    names = [str(field.column) for field in model._meta.concrete_fields]
    fresh = {"id": "id + 1000", "uid": "'0' || substr(uid, 2)", "object_id": "object_id || 'x'"}
    fresh |= {name: f"{name} + 1000" for name in ("seq", "number", "size")}
    taken = [name if name in columns else fresh.get(name, name) for name in names]
    quoted = ", ".join(f'"{name}"' for name in names)
    refused(
        f"INSERT OR REPLACE INTO {table} ({quoted}) SELECT {', '.join(_quote(t) for t in taken)} FROM {table}", table
    )


def _quote(name):
    return '"group"' if name == "group" else name


def test_the_lock_and_the_queue_are_mutable():
    [record] = sealed(1)
    Unsealed.objects.create(record=record).delete()
    Head.objects.all().delete()


def test_missing_names_what_is_gone_and_install_puts_it_back(tampering):
    assert triggers.missing(connection) == []
    with tampering():
        assert len(triggers.missing(connection)) == (10 if connection.vendor == "postgresql" else 15)
    assert triggers.missing(connection) == []


def test_an_altered_trigger_counts_as_missing():
    if connection.vendor == "postgresql":
        run("ALTER TABLE audit_seal DISABLE TRIGGER audit_seal_no_change")
        assert triggers.missing(connection) == ["audit_seal_no_change"]
        run("ALTER TABLE audit_seal ENABLE TRIGGER audit_seal_no_change")  # without ALWAYS
        assert triggers.missing(connection) == ["audit_seal_no_change"]
        run(
            "CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
        )
        assert len(triggers.missing(connection)) == 10
    else:
        run("DROP TRIGGER audit_seal_no_delete")
        run("CREATE TRIGGER audit_seal_no_delete BEFORE DELETE ON audit_seal BEGIN SELECT 1; END")
        assert triggers.missing(connection) == ["audit_seal_no_delete"]
    triggers.install(connection)
    assert triggers.missing(connection) == []


def test_every_migration_puts_the_triggers_back():
    triggers.remove(connection)
    assert triggers.missing(connection)
    assert MigrationRecorder(connection).migration_qs.filter(app="audit").exists()
    call_command("migrate", verbosity=0)
    assert triggers.missing(connection) == []


def test_ids_are_never_given_twice():
    """Without AUTOINCREMENT SQLite would give the id of a lost last row to the next one."""
    query = "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%' AND name LIKE 'audit_%'"
    if connection.vendor == "postgresql":
        query = (
            "SELECT table_name FROM information_schema.columns"
            " WHERE column_name = 'id' AND is_identity = 'YES' AND table_name LIKE 'audit_%'"
        )
    with connection.cursor() as cursor:
        cursor.execute(query)
        assert {row[0] for row in cursor.fetchall()} == set(APPEND_ONLY)
