"""How are local objects taken back and restored, a list at a time? Everything or nothing."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import ProtectedError, RestrictedError

from sideeffects.targets.base import LocalAdapter
from sideeffects.targets.registry import adapter_for

NAMED = 3  # objects that a sentence names


@dataclass(frozen=True)
class Piece:
    """One local object: its type, its id, and on whose behalf it is touched."""

    type: str
    id: str
    owner: Any

    @property
    def key(self) -> tuple[str, str]:
        """Return type and id."""
        return self.type, self.id


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


class MembersFailedError(Exception):
    """Some objects could not be changed, so none was; `members` names them where it is known which."""

    def __init__(self, members: Sequence[tuple[str, str]], why: str) -> None:
        self.members = [f"{type_} {key}" for type_, key in members]
        self.why = why
        super().__init__(f"Nothing was changed: {', '.join(self.members)} {why}.")


def remove(pieces: Sequence[Piece], *, by: str, now: datetime) -> set[tuple[str, str]]:
    """Remove the objects that are present and return those that were absent under the lock already.

    Later types go first, since a principal's parts follow it. Raises MembersFailedError: a present object was not
    changed by the write (V3), its write failed (V4), or it is someone else's by now.
    """
    absent: set[tuple[str, str]] = set()
    for adapter, group in reversed(_by_adapter(pieces)):
        rows = adapter.lock([piece.id for piece in group])
        present = [piece for piece in group if piece.id in rows and not adapter.is_deleted(rows[piece.id])]
        ids = dict.fromkeys(piece.id for piece in present)
        absent |= {piece.key for piece in group if piece.id not in ids}
        _check_owners(adapter, rows, present)
        _change(adapter, [rows[key] for key in ids], list(ids), adapter.remove, by=by, now=now)
    return absent


def restore(pieces: Sequence[Piece], *, by: str, now: datetime) -> None:
    """Bring the objects back under their ids; raises MembersFailedError where one is not in the trash or fails."""
    for adapter, group in _by_adapter(pieces):
        rows = adapter.lock([piece.id for piece in group])
        not_there = [piece.key for piece in group if piece.id not in rows or not adapter.is_deleted(rows[piece.id])]
        if not_there:
            raise MembersFailedError(not_there, "is not in the trash any more")
        _check_owners(adapter, rows, group)
        unique = {piece.id: rows[piece.id] for piece in group}
        _change(adapter, list(unique.values()), list(unique), adapter.restore, by=by, now=now)


def clashes(returning: Sequence[Returning], *, lock: bool = False) -> list[Clash]:
    """Return what stands in the way of bringing these back, in their order; empty where nothing is known to.

    With `lock` the rows, and those they hang under, stay as they are found until the transaction ends.
    """
    wanted = {one.piece.key: one for one in returning}
    adapters = _by_adapter([one.piece for one in returning])
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
        return "is not in the trash any more" if one.deleted else "is in the trash by now"
    return "" if adapter.belongs_to(row, one.piece.owner) else "belongs to someone else by now"


def _edited(adapter: LocalAdapter, rows: Any, returning: Sequence[Returning]) -> dict[str, str]:
    """Return, by id, which fields someone has changed since the revoke."""
    left = adapter.contents({one.version for one in returning if one.version})
    said = {}
    for one in returning:
        row, was = rows.get(one.piece.id), left.get(one.version)
        if row is None or was is None:
            continue
        fields = [adapter.label(name) for name, value in adapter.content(row).items() if was.get(name) != value]
        if fields:
            where = "in the trash" if one.deleted else "since the revoke"
            said[one.piece.id] = f"was edited {where} ({', '.join(fields)})"
    return said


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
    for adapter, group in _by_adapter([Piece(*key, None) for key in parents]):
        look = adapter.lock if lock else adapter.find
        rows = look([piece.id for piece in group])
        for piece in group:
            if piece.id not in rows:
                gone[piece.key] = "which is gone"
            elif adapter.is_deleted(rows[piece.id]):
                gone[piece.key] = "which is in the trash: restore that first"
    return gone


def purge(pieces: Sequence[Piece], *, by: str, now: datetime) -> set[tuple[str, str]]:
    """Delete the objects for good and return those that were absent under the lock already.

    Later types go first, since a principal's parts point to it. Raises MembersFailedError: an object is not in the
    trash any more, is someone else's by now, or something still points to it.
    """
    absent: set[tuple[str, str]] = set()
    for adapter, group in reversed(_by_adapter(pieces)):
        rows = adapter.lock([piece.id for piece in group])
        present = [piece for piece in group if piece.id in rows]
        absent |= {piece.key for piece in group if piece.id not in rows}
        alive = [piece.key for piece in present if not adapter.is_deleted(rows[piece.id])]
        if alive:
            raise MembersFailedError(alive, "is not in the trash: it was brought back by hand")
        _check_owners(adapter, rows, present)
        ids = list(dict.fromkeys(piece.id for piece in present))
        _change(adapter, [rows[key] for key in ids], ids, adapter.purge, by=by, now=now)
    return absent


def _by_adapter(pieces: Sequence[Piece]) -> list[tuple[LocalAdapter, list[Piece]]]:
    groups: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        groups[piece.type].append(piece)
    return [(adapter_for(type_), group) for type_, group in groups.items()]


def _check_owners(adapter: LocalAdapter, rows: Any, pieces: Any) -> None:
    strangers = [piece.key for piece in pieces if not adapter.belongs_to(rows[piece.id], piece.owner)]
    if strangers:
        raise MembersFailedError(strangers, "belongs to someone else by now")


def _change(
    adapter: LocalAdapter,
    rows: Sequence[Any],
    ids: Sequence[str],
    verb: Callable[..., set[str]],
    *,
    by: str,
    now: datetime,
) -> None:
    """Call one verb of an adapter and hold it to what it says it changed."""
    if not rows:
        return
    try:
        changed = verb(rows, by=by, now=now)
    except (ProtectedError, RestrictedError) as error:
        raise MembersFailedError([(adapter.type, key) for key in ids], _pointed_to(error)) from error
    except Exception as error:
        names = [(adapter.type, key) for key in ids]
        raise MembersFailedError(names, f"could not be changed ({type(error).__name__})") from error
    missed = [(adapter.type, key) for key in ids if key not in changed]
    if missed:
        raise MembersFailedError(missed, "is there but was not changed by the write")


def _pointed_to(error: ProtectedError | RestrictedError) -> str:
    """Say what keeps rows from being deleted: the first few of what points to them."""
    objects = error.protected_objects if isinstance(error, ProtectedError) else error.restricted_objects
    by = sorted(f"{row._meta.model_name} {row.pk}" for row in objects)
    more = f" and {len(by) - NAMED} more" if len(by) > NAMED else ""
    return f"is still pointed to by {', '.join(by[:NAMED])}{more}"
