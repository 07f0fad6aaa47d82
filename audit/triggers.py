"""How does the database itself refuse to change the log? Triggers, put back whenever they are gone."""

from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper

# The append-only tables, each with the sets of columns that are unique in it.
UNIQUE = {
    "audit_record": (("id",), ("uid",)),
    "audit_subject": (("id",), ("record_id", "object_type", "object_id")),
    "audit_seal": (("id",), ("log", "seq"), ("record_id",)),
    "audit_tile": (("id",), ("log", "level", "number")),
    "audit_checkpoint": (("id",), ("log", "origin", "size")),
}
REFUSE = (
    "BEGIN RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP"
    " USING ERRCODE = 'integrity_constraint_violation'; END"
)
REFUSER = "audit_append_only"
FUNCTION = f"CREATE OR REPLACE FUNCTION {REFUSER}() RETURNS trigger LANGUAGE plpgsql AS $body${REFUSE}$body$"
# PostgreSQL's pg_trigger.tgtype: before (2), each row (1), DELETE (8), UPDATE (16), TRUNCATE (32).
TYPES = {"change": 27, "truncate": 34}


def install(connection: BaseDatabaseWrapper) -> None:
    """Put back every trigger that is missing, disabled or altered."""
    gone = set(missing(connection))
    with connection.cursor() as cursor:
        if gone and connection.vendor == "postgresql":
            cursor.execute(FUNCTION)
        for name, statements in _wanted(connection).items():
            for statement in statements if name in gone else ():
                cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take all triggers away: for the fixture that empties a test database, and for going back a migration."""
    with connection.cursor() as cursor:
        for name, table in _names(connection).items():
            on_table = f" ON {table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on_table}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that are absent, disabled or not the ones installed here."""
    found = _found(connection)
    return [name for name, wanted in _wanted(connection).items() if found.get(name) != _mark(connection, name, wanted)]


def put_back(*, using: str, **_: Any) -> None:
    """Install after every migrate and flush: table rebuilds on SQLite drop triggers in silence."""
    from django.db import connections  # noqa: PLC0415  (this module is imported by a migration before apps are ready)

    connection = connections[using]
    if apps.get_model("audit", "Record")._meta.db_table in connection.introspection.table_names():
        install(connection)


def _names(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """Return each trigger's name with its table."""
    kinds = ("change", "truncate") if connection.vendor == "postgresql" else ("update", "delete", "replace")
    return {f"{table}_no_{kind}": table for table in UNIQUE for kind in kinds}


def _wanted(connection: BaseDatabaseWrapper) -> dict[str, list[str]]:
    """Return each trigger's name with the statements that install it."""
    make = _postgresql if connection.vendor == "postgresql" else _sqlite
    return {name: make(name, table) for name, table in _names(connection).items()}


def _postgresql(name: str, table: str) -> list[str]:
    event = "TRUNCATE" if name.endswith("truncate") else "UPDATE OR DELETE"
    each = "STATEMENT" if name.endswith("truncate") else "ROW"
    return [
        f"CREATE OR REPLACE TRIGGER {name} BEFORE {event} ON {table} FOR EACH {each} EXECUTE FUNCTION {REFUSER}()",
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}",
    ]


def _sqlite(name: str, table: str) -> list[str]:
    event = {"update": "UPDATE", "delete": "DELETE", "replace": "INSERT"}[name.rpartition("_")[2]]
    when, refused = "", event
    if event == "INSERT":  # INSERT OR REPLACE deletes the old row without firing its DELETE trigger
        same = (" AND ".join(f"{column} = NEW.{column}" for column in columns) for columns in UNIQUE[table])
        old = (f"EXISTS (SELECT 1 FROM {table} WHERE {one})" for one in same)  # noqa: S608  (our own constants)
        when = f" WHEN {' OR '.join(old)}"
        refused = "REPLACE"
    refuse = f"SELECT RAISE(ABORT, '{table} is append-only: {refused} refused')"
    return [
        f"DROP TRIGGER IF EXISTS {name}",
        f"CREATE TRIGGER {name} BEFORE {event} ON {table}{when} BEGIN {refuse}; END",
    ]


def _found(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """Return the triggers there are, each with what tells whether it is the right one."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        query = (
            "SELECT tgname, concat_ws(' ', tgenabled, tgtype, prosrc)"
            " FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE tgname LIKE 'audit\\_%\\_no\\_%'"
        )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return dict(cursor.fetchall())


def _mark(connection: BaseDatabaseWrapper, name: str, statements: list[str]) -> str:
    if connection.vendor == "postgresql":
        return f"A {TYPES[name.rpartition('_')[2]]} {REFUSE}"  # A: enabled always, for replicas too
    return statements[-1]
