"""How is a row found that almost every request asks for? By SQL that is built once: to build it costs the most."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)
_ASKED = "asked for"  # stands for the value while the SQL is built


class _Built(NamedTuple):
    sql: str
    converters: Sequence[tuple[int, Sequence[Callable[..., Any]], Any]]


class Lookup(Generic[M]):
    """The first row whose field is a text, in an order, with the rows that it refers to, in one query."""

    def __init__(self, model: type[M], field: str, *related: str, order: str = "pk") -> None:
        self._model, self._field, self._related, self._order = model, field, related, order
        self._built = cache(self._build)  # for each kind of database

    def first(self, value: str) -> M | None:
        """Return the row, as the database holds it now."""
        sql, converters = self._built(connection.vendor)
        with connection.cursor() as cursor:
            cursor.execute(sql, [value])
            found = cursor.fetchone()
        if found is None:
            return None
        values = list(found)
        for at, some, expression in converters:
            for convert in some:
                values[at] = convert(values[at], expression, connection)
        return self._made(values)

    def _build(self, _vendor: str) -> _Built:
        names = _names(self._model)
        for related in self._related:
            names += [f"{related}__{name}" for name in _names(self._referred(related))]
        rows = self._model._default_manager.filter(**{self._field: _ASKED}).order_by(self._order)
        compiler = rows.values_list(*names)[:1].query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        assert parameters == (_ASKED,)
        found = compiler.get_converters(expression for expression, *_ in compiler.select)
        return _Built(sql, [(at, *each) for at, each in found.items()])

    def _referred(self, related: str) -> type[models.Model]:
        found: type[models.Model] = self._model._meta.get_field(related).related_model  # type: ignore[assignment]  # (a class, once the apps are there)
        return found

    def _made(self, values: Sequence[Any]) -> M:
        """Return the row and those it refers to; all columns of one that is not there are empty."""
        left = iter(values)
        row = _row(self._model, left)
        assert row is not None
        for related in self._related:
            setattr(row, related, _row(self._referred(related), left))
        return row


def _names(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _row(model: type[M], values: Any) -> M | None:
    names = _names(model)
    own = list(islice(values, len(names)))
    key = own[names.index(model._meta.pk.attname)]
    return None if key is None else model.from_db(connection.alias, names, own)
