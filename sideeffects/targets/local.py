"""How are local objects taken back and restored, a list at a time? Everything or nothing."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import OperationalError
from django.db.models import ProtectedError, RestrictedError

from sideeffects.targets.base import Content, LocalAdapter
from sideeffects.targets.edits import Change, Edit, Wrote
from sideeffects.targets.registry import ADAPTERS, adapter_for
from sideeffects.transitions import Operation

Key = tuple[str, str]
NAMED = 3  # objects that a sentence names


class Piece(NamedTuple):
    """One local object: its type and id, on whose behalf it is touched, and what was done to it.

    `before` and `after` are its versions around the write; `expected` is the one at which nobody has changed it since;
    `over` is what an override passed over when it was set back.
    """

    type: str
    id: str
    owner: Any
    operation: Operation = Operation.CREATE
    before: str = ""
    after: str = ""
    expected: str = ""
    over: str = ""

    @property
    def key(self) -> Key:
        """Return type and id."""
        return self.type, self.id


def by_adapter(pieces: Iterable[Piece]) -> list[tuple[LocalAdapter, list[Piece]]]:
    """Fold pieces by their adapter, in the order in which everyone locks; raises NoAdapterError."""
    folded: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        folded[piece.type].append(piece)
    for type_ in folded:
        adapter_for(type_)
    return [(ADAPTERS[type_], folded[type_]) for type_ in sorted(folded, key=list(ADAPTERS).index)]


class MembersFailedError(Exception):
    """Some objects could not be changed, so none was; `members` names them where it is known which."""

    def __init__(self, members: Sequence[Key], why: str) -> None:
        self.members = [f"{type_} {key}" for type_, key in members]
        self.why = why
        super().__init__(f"Nothing was changed: {', '.join(self.members)} {why}.")


class Rows:
    """The rows of some pieces as they are now: locked to decide, or only looked at to show.

    Locked in one order, whoever locks: types as their adapters are registered, rows in the order of their keys.
    """

    def __init__(self, pieces: Iterable[Piece], *, locked: bool) -> None:
        self._rows: dict[Key, Any] = {}
        for adapter, some in by_adapter(pieces):
            found = (adapter.lock if locked else adapter.find)(list(dict.fromkeys(piece.id for piece in some)))
            self._rows |= {(adapter.type, key): row for key, row in found.items()}
        self._said: dict[str, dict[str, Content]] = defaultdict(dict)

    def __contains__(self, piece: Piece) -> bool:
        return piece.key in self._rows

    def of(self, piece: Piece) -> Any:
        """Return the row of a piece that is there."""
        return self._rows[piece.key]

    def is_standing(self, piece: Piece) -> bool:
        """Say whether the row is there and not in the trash."""
        return piece in self and not adapter_for(piece.type).is_deleted(self.of(piece))

    # -- What they said -------------------------------------------------------------------------------------------

    def read(self, pieces: Iterable[Piece]) -> None:
        """Read what rows said at the versions that deciding about these pieces takes, in one query a type."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for piece in pieces:
            around = {piece.before, piece.after} if piece.operation is Operation.UPDATE else set()
            wanted[piece.type] |= {version for version in {piece.expected, *around} if version}
        for type_, versions in wanted.items():
            unread = versions - self._said[type_].keys()
            if unread:
                self._said[type_] |= adapter_for(type_).contents(unread)

    def written(self, piece: Piece) -> AbstractSet[str]:
        """Return the fields that an update changed; raises MembersFailedError where its versions are not kept."""
        said = self._said[piece.type]
        if piece.before not in said or piece.after not in said:
            raise MembersFailedError([piece.key], "was changed, but its version before is not kept")
        before, after = said[piece.before], said[piece.after]
        return {name for name in before.keys() & after.keys() if before[name] != after[name]}

    def wrote(self, piece: Piece) -> list[Wrote]:
        """Return what an update changed, field by field; nothing where its versions are not kept any more."""
        said = self._said[piece.type]
        if piece.before not in said or piece.after not in said:
            return []
        label, before, after = adapter_for(piece.type).label, said[piece.before], said[piece.after]
        return [Wrote(label(name), before[name], after[name]) for name in before if name in self.written(piece)]

    def edits(self, pieces: Iterable[Piece]) -> dict[Key, Edit]:
        """Return how rows that are there differ from what they are expected to say, and what a revoke makes of that."""
        found = {}
        for piece in pieces:
            then = self._said[piece.type].get(piece.expected)
            adapter = adapter_for(piece.type)
            if then is None or piece not in self or not adapter.belongs_to(self.of(piece), piece.owner):
                continue  # what is someone else's by now is refused, and not shown
            now = adapter.content(self.of(piece))
            names = [name for name in now if name in then and now[name] != then[name]]
            if names:
                found[piece.key] = self._edit(piece, names, then, now)
        return found

    def _edit(self, piece: Piece, names: Sequence[str], then: Content, now: Content) -> Edit:
        adapter = adapter_for(piece.type)
        reverted: Content = {}
        if piece.operation is Operation.UPDATE:
            reverted = {name: self._said[piece.type][piece.before][name] for name in self.written(piece)}
        return Edit(
            type=piece.type,
            id=piece.id,
            operation=piece.operation,
            changes=[
                Change(adapter.label(name), then[name], now[name], reverted.get(name, now[name])) for name in names
            ],
            digest=hashlib.sha256(json.dumps(now, sort_keys=True).encode()).hexdigest(),
        )

    def versions(self, pieces: Iterable[Piece], *, now: datetime) -> dict[Key, str]:
        """Return the version that each of these locked rows is at."""
        rows: dict[str, list[Any]] = defaultdict(list)
        for piece in pieces:
            rows[piece.type].append(self.of(piece))
        return {
            (type_, key): version
            for type_, some in rows.items()
            for key, version in adapter_for(type_).versions(some, now=now).items()
        }

    # -- Changing -------------------------------------------------------------------------------------------------

    def take_back(self, pieces: Sequence[Piece], *, by: str, now: datetime) -> set[Key]:
        """Undo the writes and return what there was nothing to undo of any more.

        Removes what was created, sets changed fields back, undeletes what was deleted. Raises MembersFailedError: a
        present object was not changed by the write (V3), its write failed (V4), or it is someone else's by now.
        """
        undone = {piece.key for piece in pieces if not self.can_undo(piece)}
        todo = [piece for piece in pieces if piece.key not in undone]
        self._check_owners(todo)
        self._change(todo, Operation.CREATE, "remove", by=by, now=now)
        self._revert(todo, {piece.key: piece.before for piece in todo}, by=by, now=now)
        self._check_clashes(todo)
        self._change(todo, Operation.DELETE, "restore", by=by, now=now)
        return undone

    def can_undo(self, piece: Piece) -> bool:
        """Say whether there is something to undo: an update also of what lies in the trash by now."""
        if piece.operation is Operation.UPDATE:
            return piece in self
        return piece in self and self.is_standing(piece) is (piece.operation is Operation.CREATE)

    def give_back(self, pieces: Sequence[Piece], *, by: str, now: datetime) -> None:
        """Do again what a revoke has undone; raises MembersFailedError where a row is not as that left it, or fails."""
        self._check_restorable(pieces)
        self._check_owners(pieces)
        self._change(pieces, Operation.DELETE, "remove", by=by, now=now)
        self._revert(pieces, {piece.key: piece.over or piece.after for piece in pieces}, by=by, now=now)
        self._change(pieces, Operation.CREATE, "restore", by=by, now=now)

    def purge(self, pieces: Sequence[Piece], *, by: str, now: datetime) -> set[Key]:
        """Delete what was created for good and return what was absent under the lock already.

        Raises MembersFailedError: an object is not in the trash any more, is someone else's by now, or something still
        points to it.
        """
        present = [piece for piece in pieces if piece in self]
        if alive := [piece.key for piece in present if self.is_standing(piece)]:
            raise MembersFailedError(alive, "is not in the trash: it was brought back by hand")
        self._check_owners(present)
        self._change(present, Operation.CREATE, "purge", by=by, now=now)
        return {piece.key for piece in pieces if piece not in self}

    def _check_restorable(self, pieces: Sequence[Piece]) -> None:
        is_ready = {
            Operation.CREATE: lambda piece: piece in self and not self.is_standing(piece),
            Operation.UPDATE: lambda piece: piece in self,
            Operation.DELETE: self.is_standing,
        }
        why = {
            Operation.CREATE: "is not in the trash any more",
            Operation.UPDATE: "is not there any more",
            Operation.DELETE: "is deleted or gone already",
        }
        for operation in Operation:
            some = [piece for piece in pieces if piece.operation is operation]
            if failed := [piece.key for piece in some if not is_ready[operation](piece)]:
                raise MembersFailedError(failed, why[operation])

    def _check_owners(self, pieces: Iterable[Piece]) -> None:
        strangers = [
            piece.key for piece in pieces if not adapter_for(piece.type).belongs_to(self.of(piece), piece.owner)
        ]
        if strangers:
            raise MembersFailedError(strangers, "belongs to someone else by now")

    def _check_clashes(self, pieces: Sequence[Piece]) -> None:
        """Refuse to undelete what cannot come back as it is, before that is written."""
        for adapter, keys in _keys(pieces, Operation.DELETE):
            clashes = adapter.clashes([self._rows[adapter.type, key] for key in keys])
            if clashes:
                raise MembersFailedError([(adapter.type, key) for key in clashes], "; ".join(clashes.values()))

    def _change(self, pieces: Sequence[Piece], operation: Operation, verb: str, *, by: str, now: datetime) -> None:
        """Remove, purge or restore rows: the parts of a principal follow it, so they go before it and come after it."""
        todo = _keys(pieces, operation)
        for adapter, keys in todo if verb == "restore" else reversed(todo):
            self._hold_to_it(adapter, keys, partial(getattr(adapter, verb), by=by, now=now))

    def _revert(self, pieces: Sequence[Piece], to: Mapping[Key, str], *, by: str, now: datetime) -> None:
        """Set the fields that updates changed to what they were at a version, and no others."""
        fields = {piece.key: self.written(piece) for piece in pieces if piece.operation is Operation.UPDATE}
        for adapter, keys in _keys(pieces, Operation.UPDATE):
            verb = partial(
                adapter.revert,
                to={key: to[adapter.type, key] for key in keys},
                fields={key: fields[adapter.type, key] for key in keys},
                by=by,
                now=now,
            )
            self._hold_to_it(adapter, keys, verb)

    def _hold_to_it(self, adapter: LocalAdapter, keys: Sequence[str], verb: Callable[[Any], Collection[str]]) -> None:
        """Call one verb of an adapter and hold it to what it says it changed."""
        try:
            changed = verb([self._rows[adapter.type, key] for key in keys])
        except OperationalError:
            raise  # a deadlock or a closed connection is nobody's row
        except (ProtectedError, RestrictedError) as error:
            raise MembersFailedError([(adapter.type, key) for key in keys], _pointed_to(error)) from error
        except Exception as error:
            names = [(adapter.type, key) for key in keys]
            raise MembersFailedError(names, f"could not be changed ({type(error).__name__})") from error
        if missed := [(adapter.type, key) for key in keys if key not in changed]:
            raise MembersFailedError(missed, "is there but was not changed by the write")


def purge(pieces: Sequence[Piece], *, by: str, now: datetime) -> set[Key]:
    """Lock the objects, delete them for good, return those that were absent already; see `Rows.purge`."""
    return Rows(pieces, locked=True).purge(pieces, by=by, now=now)


def _keys(pieces: Iterable[Piece], operation: Operation) -> list[tuple[LocalAdapter, list[str]]]:
    """Return by adapter the ids of the rows that an operation wrote, each once, as types come: principals first."""
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for piece in pieces:
        if piece.operation is operation:
            ids[piece.type][piece.id] = None
    return [(ADAPTERS[type_], list(some)) for type_, some in ids.items()]


def _pointed_to(error: ProtectedError | RestrictedError) -> str:
    """Say what keeps rows from being deleted: the first few of what points to them."""
    objects = error.protected_objects if isinstance(error, ProtectedError) else error.restricted_objects
    by = sorted(f"{row._meta.model_name} {row.pk}" for row in objects)
    more = f" and {len(by) - NAMED} more" if len(by) > NAMED else ""
    return f"is still pointed to by {', '.join(by[:NAMED])}{more}"
