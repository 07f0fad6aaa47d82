"""How are many rows named, or written, by one statement that stays the same however many they are?

What is sent is one list a column: no statement grows with its rows, so none is parsed anew or runs into a limit.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Field, Lookup, Model, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler


class Among(Lookup):
    """One of a list that is sent as one value."""

    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, Any]:
        """Compare with the list, which only the database takes apart."""
        if not self.rhs:
            raise EmptyResultSet
        column, values = self.process_lhs(compiler, connection)
        keys = [self.lhs.output_field.get_db_prep_value(key, connection) for key in self.rhs]
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%b)", [*values, keys]
        return f"{column} IN (SELECT value FROM json_each(%s))", [*values, json.dumps(keys)]  # noqa: S608  (our own constants)


def among(name: str, keys: Collection[Any]) -> Among:
    """Return the condition that a field holds one of these."""
    return Among(F(name), keys)


def insert(model: type[Model], *, same: Mapping[str, Any], each: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows: by attribute, what stands in all of them and what each holds; anything else takes its default."""
    own = _fields(model)
    rest = {name: field.get_default() for name, field in own.items() if name not in each and not field.db_returning}
    fixed = _prepared(model, rest | {**same})
    into = f"INSERT INTO {_table(model)} ({', '.join(_column(model, name) for name in (*each, *fixed))})"
    if connection.vendor == "postgresql":
        values = "".join(f", %s::{_type(own[name])}" for name in fixed)
        selected = f"SELECT e.*{values} FROM {_listed(model, each)}"  # noqa: S608  (names of models and columns only, here and below)
        _run(f"{into} {selected}", [*fixed.values(), *map(list, each.values())])
    else:
        places = ", ".join(["%s"] * (len(each) + len(fixed)))
        _run_each(f"{into} VALUES ({places})", [(*row, *fixed.values()) for row in _rows(model, each)])


def update(model: type[Model], *, same: Mapping[str, Any], each: Mapping[str, Sequence[Any]]) -> None:
    """Update rows, by attribute as in `insert`; the key, which comes first in `each`, says which they are."""
    fixed = _prepared(model, same)
    key, *others = each
    sets = ", ".join(f"{_column(model, name)} = %s" for name in fixed)
    which = _column(model, key)
    if connection.vendor == "postgresql":
        sets += "".join(f", {_column(model, name)} = e.{_column(model, name)}" for name in others)
        given = f"{_listed(model, each)} ({', '.join(_column(model, name) for name in each)})"
        found = f"{_table(model)}.{which} = e.{which}"
        statement = f"UPDATE {_table(model)} SET {sets} FROM {given} WHERE {found}"  # noqa: S608  (as above)
        _run(statement, [*fixed.values(), *map(list, each.values())])
    else:
        sets += "".join(f", {_column(model, name)} = %s" for name in others)
        rows = [(*fixed.values(), *values, at) for at, *values in _rows(model, each)]
        _run_each(f"UPDATE {_table(model)} SET {sets} WHERE {which} = %s", rows)  # noqa: S608  (as above)


def copy(rows: QuerySet[Any], into: type[Model], names: Sequence[str], *, same: Mapping[str, Any]) -> None:
    """Insert these columns of rows into another table, inside the database; `same` stands in all of them."""
    own = _fields(into)
    values = [Value(value, own[name]) for name, value in same.items()]
    statement, parameters = rows.values_list(*names, *values).query.sql_with_params()
    columns = ", ".join(_column(into, name) for name in (*names, *same))
    _run(f"INSERT INTO {_table(into)} ({columns}) {statement}", parameters)


def _fields(model: type[Model]) -> "dict[str, Field[Any, Any]]":
    return {field.attname: field for field in model._meta.concrete_fields}


def _prepared(model: type[Model], values: Mapping[str, Any]) -> dict[str, Any]:
    own = _fields(model)
    return {name: own[name].get_db_prep_save(value, connection) for name, value in values.items()}


def _rows(model: type[Model], each: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as SQLite takes them; PostgreSQL takes lists of Python's own values as they are."""
    own = _fields(model)
    columns = [[own[name].get_db_prep_save(one, connection) for one in values] for name, values in each.items()]
    yield from zip(*columns, strict=True)


def _listed(model: type[Model], each: Mapping[str, Sequence[Any]]) -> str:
    own = _fields(model)
    return f"unnest({', '.join(f'%b::{_type(own[name])}[]' for name in each)}) AS e"


def _type(field: "Field[Any, Any]") -> str:
    """Return a column's type without its length: a cast would cut what is too long, where an insert refuses it."""
    return str(field.db_type(connection)).partition("(")[0]


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _column(model: type[Model], name: str) -> str:
    return connection.ops.quote_name(str(_fields(model)[name].column))


def _run(statement: str, parameters: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _run_each(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)
