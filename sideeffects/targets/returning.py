"""What stands in the way of bringing local objects back? Looked at before the click, and again under locks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sideeffects.targets.base import LocalAdapter
from sideeffects.targets.local import Piece, by_adapter
from sideeffects.transitions import Operation


@dataclass(frozen=True)
class Returning:
    """One object that a restore would bring back: whether it has to lie in the trash, at which version it was left."""

    piece: Piece
    deleted: bool = True
    version: str = ""


@dataclass(frozen=True)
class Clash:
    """One object that cannot come back as it was, and why."""

    type: str
    id: str
    why: str
    edited: bool = False

    def __str__(self) -> str:
        return f"{self.type} {self.id} {self.why}"

    def as_json(self) -> dict[str, Any]:
        """Return its members, as an answer tells them."""
        return {"type": self.type, "id": self.id, "why": self.why, "edited": self.edited}


def clashes(returning: Sequence[Returning], *, lock: bool = False) -> list[Clash]:
    """Return what stands in the way of bringing these back, in their order; empty where nothing is known to.

    With `lock` the rows, and those they hang under, stay as they are found until the transaction ends.
    """
    wanted = {one.piece.key: one for one in returning}
    adapters = by_adapter([one.piece for one in returning])
    found = _orphans(adapters, set(wanted), lock=lock)
    for adapter, group in adapters:
        look = adapter.lock if lock else adapter.find
        rows = look([piece.id for piece in group])
        taken = adapter.clashes([row for row in rows.values() if adapter.is_deleted(row)])
        edits = _edited(adapter, rows, [wanted[piece.key] for piece in group])
        for piece in group:
            if why := _in_the_way(adapter, rows, wanted[piece.key]) or taken.get(piece.id, ""):
                found[piece.key] = Clash(*piece.key, why)
            elif piece.key not in found and piece.id in edits:
                found[piece.key] = Clash(*piece.key, edits[piece.id], edited=True)
    return [found[key] for key in wanted if key in found]


def _in_the_way(adapter: LocalAdapter, rows: Any, one: Returning) -> str:
    row = rows.get(one.piece.id)
    if row is None:
        return "is not there any more"
    if adapter.is_deleted(row) is not one.deleted:
        return "is not in the trash any more" if one.deleted else "is in the trash by now: restore that first"
    return "" if adapter.belongs_to(row, one.piece.owner) else "belongs to someone else by now"


def _edited(adapter: LocalAdapter, rows: Any, returning: Sequence[Returning]) -> dict[str, str]:
    """Return, by id, which fields someone has changed since the revoke."""
    versions = {version for one in returning for version in (one.version, *_around(one.piece)) if version}
    left = adapter.contents(versions)
    said = {}
    for one in returning:
        row, was = rows.get(one.piece.id), left.get(one.version)
        if row is None or was is None:
            continue
        before, after = (left.get(version) for version in _around(one.piece) or ("", ""))
        fields = [
            adapter.label(name)
            for name, value in adapter.content(row).items()
            if was.get(name) != value and (before is None or after is None or before.get(name) != after.get(name))
        ]
        if fields:
            where = "in the trash" if one.deleted else "since the revoke"
            said[one.piece.id] = f"was edited {where} ({', '.join(fields)})"
    return said


def _around(piece: Piece) -> tuple[str, ...]:
    """Return the versions between which an update changed what a restore would write; nothing of other writes."""
    return (piece.before, piece.after) if piece.operation is Operation.UPDATE else ()


def _orphans(
    adapters: Sequence[tuple[LocalAdapter, list[Piece]]], coming: set[tuple[str, str]], *, lock: bool
) -> dict[tuple[str, str], Clash]:
    """Return what hangs under an object that is not there and does not come back with it."""
    above: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for adapter, group in adapters:
        rows = list(adapter.find([piece.id for piece in group]).values())
        for key, parents in adapter.parents(rows).items():
            above[adapter.type, key] = [parent for parent in parents if parent not in coming]
    gone = _gone(list(dict.fromkeys(key for keys in above.values() for key in keys)), lock=lock)
    return {
        child: Clash(*child, f"belongs to {key[0]} {key[1]}, {gone[key]}")
        for child, keys in above.items()
        for key in reversed(keys)
        if key in gone
    }


def _gone(parents: Sequence[tuple[str, str]], *, lock: bool) -> dict[tuple[str, str], str]:
    """Return which of these objects are not there, and in which way."""
    gone: dict[tuple[str, str], str] = {}
    for adapter, group in by_adapter([Piece(*key, None) for key in parents]):
        look = adapter.lock if lock else adapter.find
        rows = look([piece.id for piece in group])
        for piece in group:
            if piece.id not in rows:
                gone[piece.key] = "which is gone"
            elif adapter.is_deleted(rows[piece.id]):
                gone[piece.key] = "which is in the trash: restore that first"
    return gone
