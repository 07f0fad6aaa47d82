"""How do Django models whose versions django-simple-history keeps join? Most adapters need only a few lines on this."""

import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from functools import cached_property
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Field, Max, Model, Q, QuerySet, UniqueConstraint
from django.db.models.deletion import Collector

from sideeffects.setwise import among, copy
from sideeffects.targets.base import Content, LocalAdapter


class HistoryAdapter(LocalAdapter):
    """The adapter of a model with `history = HistoricalRecords()`, numbered in the order of time.

    A subclass names `type`, `model`, how a row is stamped as deleted and as standing, and whose a row is.
    """

    model: ClassVar[type[Model]]
    history: ClassVar[str] = "history"  # the model's attribute
    apart: ClassVar[AbstractSet[str]] = frozenset()  # fields that are bookkeeping; the stamps are so anyhow
    under: ClassVar[Mapping[str, str]] = {}  # foreign keys to local objects, and the type of each

    @abstractmethod
    def deleted(self, *, by: str, now: datetime) -> dict[str, Any]:
        """Return the stamp of a deleted row: its fields and their values."""

    @abstractmethod
    def standing(self) -> dict[str, Any]:
        """Return the same fields as they are while the row is not deleted."""

    # -- Finding ----------------------------------------------------------------------------------------------------

    def find(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the rows that are present, by id."""
        return _by_id(self._rows(ids))

    def lock(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Lock and return the rows that are present, by id."""
        return _by_id(self._rows(ids).select_for_update().order_by("pk"))

    def _rows(self, ids: Sequence[str]) -> QuerySet[Any]:
        return self._all().filter(among("pk", [key for text in ids for key in self._key(text)]))

    def _key(self, text: str) -> Iterable[Any]:
        """Yield the primary key that an id writes, if any: no database is asked for what cannot be one."""
        try:
            key = self.model._meta.pk.clean(text, None)
        except ValidationError:
            return
        if str(key) == text:
            yield key

    def parents(self, rows: Sequence[Any]) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return what the foreign keys under `under` point to."""
        named = [(self._field(name).attname, type_) for name, type_ in self.under.items()]
        return {
            str(row.pk): [(type_, str(key)) for name, type_ in named if (key := getattr(row, name)) is not None]
            for row in rows
        }

    # -- Versions ---------------------------------------------------------------------------------------------------

    def content(self, row: Any) -> Content:
        """Return the tracked fields as text; of a row or of a version of it."""
        return {name: _text(getattr(row, attribute)) for name, attribute in self._fields}

    def contents(self, versions: Collection[str]) -> Mapping[str, Content]:
        """Return what rows said at these versions."""
        kept = self._versions().filter(among("pk", [key for key in versions if key]))
        rows = kept.values_list("pk", *(attribute for _, attribute in self._fields))
        names = [name for name, _ in self._fields]
        return {str(key): dict(zip(names, map(_text, values), strict=True)) for key, *values in rows}

    def versions(self, rows: Sequence[Any], *, now: datetime) -> Mapping[str, str]:
        """Return the newest version of each row; one is kept first where the row was changed past its history."""
        found = self._newest(rows)
        unkept = [row for row in rows if row.pk not in found or self.content(found[row.pk]) != self.content(row)]
        if unkept:
            self._keep(unkept, "found so", now=now)
            found |= self._newest(unkept)
        return {str(row.pk): str(found[row.pk].pk) for row in rows}

    def _newest(self, rows: Sequence[Any]) -> dict[Any, Any]:
        key = self._pk_name()
        newest = self._versions().filter(among(key, _keys(rows))).order_by().values(key)
        kept = self._versions().filter(pk__in=newest.annotate(newest=Max("pk")).values("newest")).order_by()
        return {getattr(version, key): version for version in kept}

    def label(self, name: str) -> str:
        """Return the field's verbose name."""
        return str(self._field(name).verbose_name)

    def _kept(self, versions: Collection[str]) -> dict[str, Any]:
        return {str(row.pk): row for row in self._versions().filter(pk__in=[key for key in versions if key])}

    # -- Changing ---------------------------------------------------------------------------------------------------

    def remove(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Stamp the rows as deleted."""
        return self._stamp(rows, self.deleted(by=by, now=now), f"deleted by {by}", now=now)

    def restore(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Stamp the rows as standing."""
        return self._stamp(rows, self.standing(), f"restored by {by}", now=now)

    def purge(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:  # noqa: ARG002  (the door's signature)
        """Delete the rows and every version of them; what points to one keeps it."""
        keys = [row.pk for row in rows]
        found = self._all().filter(pk__in=keys)
        Collector(using=found.db).collect(found)  # asks who points to them
        found._raw_delete(found.db)  # noqa: SLF001  (what the collector has let through; a delete would write versions)
        self._versions().filter(**{f"{self._pk_name()}__in": keys}).delete()
        left = set(self._all().filter(pk__in=keys).values_list("pk", flat=True))
        return {str(key) for key in keys if key not in left}

    def revert(
        self,
        rows: Sequence[Any],
        *,
        to: Mapping[str, str],
        fields: Mapping[str, AbstractSet[str]],
        by: str,
        now: datetime,
    ) -> set[str]:
        """Copy the fields from the versions; the database's own answer says which rows were changed."""
        kept = self._kept(to.values())
        for row in rows:
            for name in fields[str(row.pk)]:
                attribute = self._field(name).attname
                setattr(row, attribute, getattr(kept[to[str(row.pk)]], attribute))
        names = sorted({name for row in rows for name in fields[str(row.pk)]})
        if not names:
            return {str(row.pk) for row in rows}
        if self._all().bulk_update(rows, names) != len(rows):
            now_there = self.find([str(row.pk) for row in rows])
            wanted = {str(row.pk): self.content(row) for row in rows}
            return {key for key, row in now_there.items() if self.content(row) == wanted[key]}
        self._keep(rows, f"set back by {by}", now=now)
        return {str(row.pk) for row in rows}

    def _stamp(self, rows: Sequence[Any], stamp: Mapping[str, Any], why: str, *, now: datetime) -> set[str]:
        keys = _keys(rows)
        if self._all().filter(among("pk", keys)).update(**stamp) != len(keys):
            done = self._all().filter(among("pk", keys), **stamp)
            return {str(key) for key in done.values_list("pk", flat=True)}
        for row in rows:
            for name, value in stamp.items():
                setattr(row, name, value)
        self._keep(rows, why, now=now)
        return {str(key) for key in keys}

    def _keep(self, rows: Sequence[Any], why: str, *, now: datetime) -> None:
        """Keep a version of each row as it is now: what the manager of its history does, set-wise."""
        versions = getattr(self.model, self.history).model
        tracked = [field.attname for field in versions.tracked_fields]
        kept = versions(
            history_date=now,
            history_type="~",
            history_change_reason=why[:100],
            history_user=versions.get_default_history_user(rows[0]),
        )
        beside = [field.attname for field in versions._meta.concrete_fields if not field.primary_key]
        same = {name: getattr(kept, name) for name in beside if name not in tracked}
        copy(self._all().filter(among("pk", _keys(rows))).order_by("pk"), versions, tracked, same=same)

    # -- Coming back ------------------------------------------------------------------------------------------------

    def clashes(self, rows: Sequence[Any]) -> Mapping[str, str]:
        """Return which rows' unique values have been taken since; one statement for each constraint."""
        taken: dict[str, str] = {}
        for fields, condition in self._unique:
            for row, other in self._alike(rows, fields, condition):
                values = ", ".join(
                    f"{self.label(name)} {_text(getattr(row, name))}" for name in fields if name != "owner"
                )
                taken[str(row.pk)] = f"cannot come back: its {values} is taken by {self.type} {other.pk}"
        return taken

    @property
    def _unique(self) -> list[tuple[Sequence[str], Q]]:
        """Return what no two rows may share, and among which rows."""
        own = self.model._meta.concrete_fields
        alone = [([field.attname], Q()) for field in own if field.unique and not field.primary_key]
        kept = [item for item in self.model._meta.constraints if isinstance(item, UniqueConstraint) and item.fields]
        return [*alone, *((item.fields, item.condition or Q()) for item in kept)]

    def _alike(self, rows: Sequence[Any], fields: Sequence[str], condition: Q) -> Iterable[tuple[Any, Any]]:
        """Yield each row with another one that holds the same values, where the constraint looks at both."""
        names = [self._field(name).attname for name in fields]
        values = {name: {getattr(row, name) for row in rows} for name in names}
        others = self._all().filter(condition, **{f"{name}__in": among for name, among in values.items()})
        held = {tuple(getattr(other, name) for name in names): other for other in others.exclude(pk__in=_keys(rows))}
        for row in rows:
            if other := held.get(tuple(getattr(row, name) for name in names)):
                yield row, other

    # -- Fields -----------------------------------------------------------------------------------------------------

    @cached_property
    def _fields(self) -> list[tuple[str, str]]:
        """Return name and attribute of the tracked fields that are content."""
        beside = {*self.apart, *self.standing()}
        tracked = {field.name for field in getattr(self.model, self.history).model.tracked_fields}
        own = self.model._meta.concrete_fields
        shown = [field for field in own if field.name in tracked - beside and not field.primary_key]
        return [(field.name, field.attname) for field in shown]

    def _field(self, name: str) -> "Field[Any, Any]":
        field: Field[Any, Any] = self.model._meta.get_field(name)  # type: ignore[assignment]  # (only concrete ones are named)
        return field

    def _all(self) -> QuerySet[Any]:
        """Return every row, past whatever a default manager hides."""
        return QuerySet(self.model)

    def _versions(self) -> QuerySet[Any]:
        return QuerySet(getattr(self.model, self.history).model)

    def _pk_name(self) -> str:
        return str(self.model._meta.pk.attname)


def _keys(rows: Sequence[Any]) -> list[Any]:
    return [row.pk for row in rows]


def _by_id(rows: Iterable[Any]) -> dict[str, Any]:
    return {str(row.pk): row for row in rows}


def _text(value: Any) -> str | None:
    """Write one value so that equal values are equal texts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
