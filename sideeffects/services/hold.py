"""Which rows does a running tool hold, at which version was each before it wrote, and at which is it after?"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sideeffects.declarations import Declared
from sideeffects.models import ToolVersion
from sideeffects.services.land import NewEffect
from sideeffects.targets.base import LocalAdapter
from sideeffects.targets.registry import adapter_for
from sideeffects.tools import Contract, RowsNotThereError, Written
from sideeffects.transitions import Operation, RevokeClass

Key = tuple[str, str]


class NotAsWrittenError(Exception):
    """A tool says it wrote what the rows do not show; nothing of it is kept."""

    def __init__(self, type_: str, ids: Sequence[str], why: str) -> None:
        self.type, self.ids = type_, list(ids)
        super().__init__(f"{type_} {', '.join(self.ids)} {why}.")


class Held:
    """What one run of a tool holds, inside its transaction."""

    def __init__(self, *, owner: Any, now: datetime) -> None:
        self.owner, self.now = owner, now
        self.before: dict[Key, str] = {}
        self._under: dict[Key, set[Key]] = {}  # what each hung under before

    def hold(self, type_: str, ids: Sequence[str]) -> list[Any]:
        """Lock the owner's rows that stand, note their versions, return them in order; raises RowsNotThereError."""
        adapter = adapter_for(type_)
        rows = adapter.lock(ids)
        missing = [key for key in ids if key not in rows or not self._is_there(adapter, rows[key])]
        if missing:
            raise RowsNotThereError(type_, missing)
        unnoted = [row for key, row in rows.items() if (type_, key) not in self.before]
        versions = adapter.versions(unnoted, now=self.now) if unnoted else {}
        self.before |= {(type_, key): version for key, version in versions.items()}
        self._under |= {(type_, key): set(above) for key, above in adapter.parents(unnoted).items()}
        return [rows[key] for key in ids]

    def _is_there(self, adapter: LocalAdapter, row: Any) -> bool:
        return adapter.belongs_to(row, self.owner) and not adapter.is_deleted(row)

    def effects(self, written: Sequence[Written], version: ToolVersion | None) -> list[NewEffect]:
        """Give each object its own class: local where this process wrote it, else what the contract says.

        Raises NotAsWrittenError, NoAdapterError.
        """
        assert version is not None
        after, parents = self._as_they_are([item for item in written if not item.external])
        return [
            _external(item, version)
            if item.external
            else NewEffect(
                _declared(item),
                RevokeClass.LOCAL,
                before=self.before.get((item.type, item.id), "") if item.operation is not Operation.CREATE else "",
                after=after[item.type, item.id],
                under=parents[item.type, item.id],
            )
            for item in written
        ]

    def _as_they_are(self, written: Sequence[Written]) -> tuple[Mapping[Key, str], Mapping[Key, list[Key]]]:
        """Return the version each row is at now, and what else it hangs under now, holding the tool to what it says."""
        by_type: dict[str, list[Written]] = defaultdict(list)
        for item in written:
            by_type[item.type].append(item)
        own = {(item.type, item.id) for item in written}
        after: dict[Key, str] = {}
        parents: dict[Key, list[Key]] = {}
        for type_, items in by_type.items():
            adapter = adapter_for(type_)
            rows = adapter.find([item.id for item in items])
            self._check(adapter, items, rows)
            versions = adapter.versions(list(rows.values()), now=self.now)
            above = adapter.parents(list(rows.values()))
            after |= {(type_, key): versions[key] for key in rows}
            for key in rows:
                known = own | self._under.get((type_, key), set())
                parents[type_, key] = [one for one in above.get(key, ()) if one not in known]
        return after, parents

    def _check(self, adapter: LocalAdapter, items: Sequence[Written], rows: Mapping[str, Any]) -> None:
        faults = {
            "stands twice in what was written": len({item.id for item in items}) != len(items),
            "was not held before it was changed": any(
                item.operation is not Operation.CREATE and (item.type, item.id) not in self.before for item in items
            ),
            "is not as it was said to be written": not all(self._shows(adapter, item, rows) for item in items),
        }
        for why, is_so in faults.items():
            if is_so:
                raise NotAsWrittenError(adapter.type, [item.id for item in items], why)

    @staticmethod
    def _shows(adapter: LocalAdapter, item: Written, rows: Mapping[str, Any]) -> bool:
        row = rows.get(item.id)
        if row is None:
            return False
        return adapter.is_deleted(row) is (item.operation is Operation.DELETE)


def _declared(item: Written) -> Declared:
    return Declared(item.type, item.id, item.operation, item.title, item.version)


def _external(item: Written, version: ToolVersion) -> NewEffect:
    revoke_class, reason = Contract.from_json(version.contract).classify(item.operation, named=bool(item.id))
    return NewEffect(_declared(item), revoke_class, reason, version.target)
