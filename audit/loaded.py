"""How does what the database returned become an object? In one step: field by field it took most of reading a row."""

from collections.abc import Collection, Sequence
from typing import Any, Self

from django.db import models
from django.db.models.base import ModelState


class Loaded(models.Model):
    """A model whose rows are nothing but their columns: no signal and no field of it waits for one to be loaded."""

    class Meta:
        abstract = True

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any]) -> Self:  # type: ignore[override]  # (of a Django to come)
        """Return a row as it is stored; a column that was not asked for is loaded when it is."""
        row = cls.__new__(cls)
        row._state = ModelState()
        row._state.adding, row._state.db = False, db
        row.__dict__.update(zip(field_names, values, strict=True))
        return row


def refer(rows: Sequence[models.Model], *names: str) -> None:
    """Give rows what they refer to, each of it read once and shared: many rows of one asking refer to few others."""
    for name in names if rows else ():
        field: Any = rows[0]._meta.get_field(name)
        keys = {getattr(row, field.attname) for row in rows} - {None}
        found: dict[Any, Any] = models.QuerySet(field.related_model).in_bulk(keys)
        for row in rows:
            field.set_cached_value(row, found.get(getattr(row, field.attname)))
