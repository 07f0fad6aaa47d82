"""Which later actions build on an action: they changed or deleted its objects, or created something under them?

Only what stands counts, and only actions of the same owner: another's word about an id gives no hold on it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from sideeffects.models import Above, Effect
from sideeffects.setwise import among
from sideeffects.targets.base import Content
from sideeffects.targets.registry import adapter_for
from sideeffects.transitions import EffectState, Operation, RevokeClass

MOST_LEVELS = 25  # of actions that build on each other; whoever stands higher is named when these have gone


class How(StrEnum):
    """In which way a later action builds on an earlier one."""

    CHANGED = "changed"
    DELETED = "deleted"
    UNDER = "created under"


@dataclass
class Later:
    """One later action, how it builds on the earlier one, and on which of its objects."""

    group: UUID
    how: set[How] = field(default_factory=set)
    objects: set[tuple[str, str]] = field(default_factory=set)
    blocks: bool = (
        False  # it has to go first: it deleted what the earlier one created, or changed the same fields again
    )


Builds = Mapping[UUID, Mapping[UUID, Later]]  # earlier group → later group → how


def of(groups: Iterable[UUID]) -> Builds:
    """Return what stands and builds on what stands of each group, in a fixed number of queries however many there are.

    Three; one more a type of which objects were changed and changed again.
    """
    return _of(_Row(*values) for values in _standing(list(groups)).values_list(*_NAMES))


def of_members(members: Iterable[Effect], owners: Mapping[UUID, Any]) -> Builds:
    """Return the same of groups whose members were read already, in one query less; `owners` are by group."""
    return _of(
        _Row(effect.pk, effect.group_id, owners[effect.group_id], *(getattr(effect, name) for name in _ATTRIBUTES))
        for effect in members
        if effect.state == EffectState.ACTIVE and effect.revoke_class != RevokeClass.NONE and effect.object_id
    )


def _of(standing: "Iterable[_Row]") -> Builds:
    earlier: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in standing:
        earlier[row.type, row.id].append(row)
    found: dict[UUID, dict[UUID, Later]] = defaultdict(dict)
    chains: list[tuple[Later, _Row, _Row]] = []
    for later, how in (*_on_the_same(earlier), *_under(earlier)):
        for own in earlier.get((later.type, later.id), ()):
            if _builds_on(later, own):
                one = found[own.group].setdefault(later.group, Later(later.group))
                one.how.add(how)
                one.objects.add((own.type, own.id))
                one.blocks |= how is How.DELETED and own.operation == Operation.CREATE
                if how is How.CHANGED and own.operation == Operation.UPDATE and own.revoke_class == RevokeClass.LOCAL:
                    chains.append((one, own, later))
    for one in _changed_again(chains):
        one.blocks = True
    return found


def _changed_again(chains: Sequence[tuple[Later, "_Row", "_Row"]]) -> Iterable[Later]:
    """Yield the later ones of these pairs of changes of one object that changed a field which the earlier had changed.

    What they say now stands there: setting the earlier one back alone would undo them unsaid.
    """
    wanted: dict[str, set[str]] = defaultdict(set)
    for _, *pair in chains:
        wanted[pair[0].type] |= {version for row in pair for version in (row.before, row.after) if version}
    said = {type_: adapter_for(type_).contents(versions) for type_, versions in wanted.items()}
    for one, own, later in chains:
        if _changed(own, said[own.type]) & _changed(later, said[own.type]):
            yield one


def _changed(row: "_Row", said: Mapping[str, Content]) -> set[str]:
    """Return the fields that a change changed; none where its versions are not kept any more."""
    before, after = said.get(row.before, {}), said.get(row.after, {})
    return {name for name in before.keys() & after.keys() if before[name] != after[name]}


def closure(groups: Sequence[UUID]) -> list[UUID]:
    """Return these groups and all that builds on them, directly or not, the newest first."""
    every = set(groups)
    level = list(groups)
    for _ in range(MOST_LEVELS):
        level = list({later for some in of(level).values() for later in some} - every)
        if not level:
            break
        every |= set(level)
    return sorted(every, reverse=True)


def waves(groups: Sequence[UUID], builds: Builds) -> list[list[UUID]]:
    """Return the groups in the order in which they can go: each after all of those that build on it."""
    chosen, placed, done = dict.fromkeys(groups), set[UUID](), list[list[UUID]]()
    while chosen:
        ready = [key for key in chosen if not (builds.get(key, {}).keys() & chosen.keys())]
        done.append(ready or list(chosen))
        placed |= set(done[-1])
        chosen = {key: None for key in chosen if key not in placed}
    return done


_KEYS = ("pk", "group", "group__owner")
_SAYS = ("target", "revoke_class", "operation", "version_before", "version_after")
_NAMES = (*_KEYS, "type", "object_id", *_SAYS)
_ATTRIBUTES = ("type", "object_id", "target_id", *_SAYS[1:])


class _Row(NamedTuple):
    key: UUID
    group: UUID
    owner: Any
    type: str
    id: str
    target: Any
    revoke_class: str
    operation: str
    before: str
    after: str


def _standing(groups: Sequence[UUID]) -> QuerySet[Effect]:
    rows = Effect.objects.filter(among("group_id", groups), state=EffectState.ACTIVE)
    return rows.exclude(revoke_class=RevokeClass.NONE).exclude(object_id="").order_by()


def _named(objects: Collection[tuple[str, str]]) -> Q:
    """Narrow to rows about these objects; or others of the same types and ids."""
    types, keys = zip(*objects, strict=True) if objects else ((), ())
    return Q(among("object_id", {*keys}), type__in={*types})


def _on_the_same(own: Collection[tuple[str, str]]) -> Iterable[tuple[_Row, How]]:
    rows = Effect.objects.filter(_named(own), state=EffectState.ACTIVE)
    for values in rows.exclude(operation=Operation.CREATE).order_by().values_list(*_NAMES):
        row = _Row(*values)
        yield row, How.CHANGED if row.operation == Operation.UPDATE else How.DELETED


def _under(own: Collection[tuple[str, str]]) -> Iterable[tuple[_Row, How]]:
    """Yield what was written under these objects: the row is the later effect's, its object the one above it."""
    standing = Above.objects.filter(_named(own), effect__state=EffectState.ACTIVE).order_by()
    keys, says = ([f"effect__{name}" for name in names] for names in (_KEYS, _SAYS))
    for values in standing.values_list(*keys, "type", "object_id", *says):
        yield _Row(*values), How.UNDER


def _builds_on(later: _Row, own: _Row) -> bool:
    """Say whether it does: an id is a local object's, or one target's."""
    is_local = own.revoke_class == RevokeClass.LOCAL
    same_place = later.target == own.target and is_local == (later.revoke_class == RevokeClass.LOCAL)
    return later.group != own.group and later.owner == own.owner and later.key > own.key and same_place
