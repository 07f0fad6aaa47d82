"""How do many actions come to be there quickly? One is made as the product makes it, and its rows are copied by SQL."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Max, Model
from uuid6 import uuid7

from sideeffects.actors import Actor
from sideeffects.models import Declaration, Effect, Group
from sideeffects.services.execute import execute
from sideeffects.services.record import ToolCall
from sideeffects.targets.history import HistoryAdapter
from sideeffects.targets.registry import adapter_for
from sideeffects.tools import REGISTRY

_UUID = {"postgresql": "('{0}' || lpad(to_hex({1}), 12, '0'))::uuid", "sqlite": "('{0}' || printf('%%012x', {1}))"}
_COPY = (
    "WITH RECURSIVE numbers (n) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %s)"
    " INSERT INTO {table} ({names}) SELECT {values} FROM numbers, {table} WHERE {table}.{key} = %s"
)


def action(tool: str, arguments: dict[str, Any], *, by: Actor, now: datetime) -> Group:
    """Return one action, made as an agent makes it."""
    call = ToolCall(tool=tool, arguments=arguments, conversation="bench")
    group = execute(tool=REGISTRY[tool], call=call, owner=by.user, by=by, now=now).group
    assert group is not None
    return group


def copies(of: Group, count: int, *, conversation: str) -> list[UUID]:
    """Copy an action that created local objects, with these and their versions; returns the new groups in order."""
    effects = list(Effect.objects.filter(group=of).order_by("position"))
    groups, members, declarations = _Keys(Group, 1), _Keys(Effect, len(effects)), _Keys(Declaration, 1)
    group = groups.of(0)
    with transaction.atomic():
        _copy(of, count, {"id": group, "key": f"CAST({group} AS varchar)", "conversation": f"'{conversation}'"})
        for type_ in {effect.type for effect in effects}:
            same = [effect for effect in effects if effect.type == type_]
            adapter = adapter_for(type_)
            assert isinstance(adapter, HistoryAdapter)
            _copy_objects(adapter, same, count, members=members, group=group)
        held = Declaration.objects.get(group=of)
        _copy(held, count, {"id": declarations.of(0), "group_id": group})
    return groups.numbers(count)


def _copy_objects(adapter: HistoryAdapter, effects: list[Effect], count: int, *, members: "_Keys", group: str) -> None:
    """Copy the objects of one type, their versions after the write, and the effects that wrote them."""
    versions = getattr(adapter.model, adapter.history).model
    rows, kept = _Keys(adapter.model, len(effects)), _Keys(versions, len(effects))
    for at, effect in enumerate(effects):
        key, version = rows.of(at), kept.of(at)
        _copy(adapter.find([effect.object_id])[effect.object_id], count, {"id": key})
        _copy(versions.objects.get(pk=effect.version_after), count, {"history_id": version, "id": key})
        texts = {"object_id": f"CAST({key} AS varchar)", "version_after": f"CAST({version} AS varchar)"}
        _copy(effect, count, {"id": members.of(effect.position), "group_id": group, **texts})
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [adapter.model, versions]):
            cursor.execute(statement)


class _Keys:
    """Keys for copies: above what is there where they are numbers, else below what is made later."""

    def __init__(self, model: type[Model], stride: int) -> None:
        self.stride = stride
        self.is_number = model._meta.pk.get_internal_type() != "UUIDField"
        self.first = model._default_manager.aggregate(last=Max("pk"))["last"] + 1 if self.is_number else 0
        self.prefix = str(uuid7())[:24]

    def of(self, at: int) -> str:
        """Return, in SQL, the key of the row at this place in each copy."""
        number = f"({self.first + at} + n * {self.stride})"
        prefix = self.prefix if connection.vendor == "postgresql" else self.prefix.replace("-", "")
        return number if self.is_number else _UUID[connection.vendor].format(prefix, number)

    def numbers(self, count: int) -> list[UUID]:
        """Return the keys of so many copies of the first row."""
        return [UUID(f"{self.prefix}{number * self.stride:012x}") for number in range(count)]


def _copy(row: Model, count: int, changes: Mapping[str, str]) -> None:
    table, quote = connection.ops.quote_name(row._meta.db_table), connection.ops.quote_name
    names = [str(field.column) for field in row._meta.concrete_fields]
    values = ", ".join(changes.get(name) or f"{table}.{quote(name)}" for name in names)
    key = row._meta.pk
    statement = _COPY.format(table=table, names=", ".join(map(quote, names)), values=values, key=quote(str(key.column)))
    with connection.cursor() as cursor:
        cursor.execute(statement, [count, key.get_db_prep_value(row.pk, connection)])
