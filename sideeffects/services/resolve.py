"""Resolve a conflict: adopt what only the repeat declared, let it stand as a group of its own, or dismiss it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from audit import log
from sideeffects import policies, queries
from sideeffects.actors import Actor, party_of
from sideeffects.declarations import Declared, difference, is_difference
from sideeffects.models import Agent, Declaration, Effect, Group
from sideeffects.presenters import name_of
from sideeffects.services import record
from sideeffects.services.compare import declared_as
from sideeffects.services.land import NewEffect, classified, member_words, row_of, window_of
from sideeffects.tools import Contract
from sideeffects.transitions import EffectState, GroupState, is_complete

Resolution = Declaration.Resolution
_DECIDED: dict[str, str] = {
    Resolution.ADOPT: "adopted",
    Resolution.SPLIT: "split into an action of its own",
    Resolution.DISMISS: "dismissed",
}


class AlreadyResolvedError(Exception):
    """Someone has decided about this difference, and otherwise."""

    def __init__(self, row: Declaration, *, by: Actor) -> None:
        self.conflict, self.group = str(row.pk), str(row.group_id)
        self.resolution, self.resolved_by, self.resolved_at = row.resolution, row.resolved_by, row.resolved_at
        who = "you" if row.resolved_by == str(by.party) else name_of(row.resolved_by)
        super().__init__(f"This was decided before: {_DECIDED[row.resolution]} by {who}. That stands.")


class NothingToAdoptError(Exception):
    """The repeat declares nothing that is not held already."""

    def __init__(self, row: Declaration) -> None:
        self.conflict, self.group = str(row.pk), str(row.group_id)
        super().__init__("The repeat declares nothing that is not held already, so nothing would join.")


class NotKeptError(Exception):
    """What came past the cap was counted and not kept, so nobody can tell what it declared."""

    def __init__(self, row: Declaration) -> None:
        self.conflict, self.group = str(row.pk), str(row.group_id)
        super().__init__("These declarations were counted and not kept; all that can be done is to dismiss them.")


@dataclass
class Resolved:
    """What became of one conflict: what `joined` the group, which members took another version, or where it stands.

    `already` where it had been decided so before and this asking changed nothing.
    """

    declaration: Declaration
    group: Group
    joined: Sequence[NewEffect] = ()
    changed: Sequence[dict[str, Any]] = ()
    split_into: Group | None = None
    already: bool = False
    along: list[Declaration] = field(default_factory=list)


def resolve(*, conflict: UUID, action: str, reason: str, by: Actor, now: datetime) -> Resolved:
    """Decide about one conflict, once and for ever; `action` is adopt, split or dismiss.

    Nothing that is adopted into a group taken back before is taken back by this. Raises NotFoundError,
    ForPersonsOnlyError, ReadOnlyError, ReasonRequiredError, AlreadyResolvedError, NothingToAdoptError, NotKeptError.
    Writes `conflict_resolved`, and `group_split` where it now stands by itself.
    """
    reason, wanted = reason.strip(), Resolution(action)
    with transaction.atomic():
        row, generations = _locked(conflict)
        authority = policies.check_may_resolve(by, row, reason=reason)
        if wanted is Resolution.DISMISS:
            policies.check_says_why(reason)
        if row.resolved_at is not None:
            return _as_it_is(row, wanted, by=by)
        if not row.kept and wanted is not Resolution.DISMISS:
            raise NotKeptError(row)
        members = list(row.group.effects.select_related("target").order_by("position"))
        _stamp(row, wanted, reason, held=len(members), by=by, now=now)
        done = ACTS[wanted](row, members, generations, now)
        for other in (row, *done.along):
            other.save()
        log.append(_entries(done, authority, by=by), now=now)
    return done


def _locked(conflict: UUID) -> tuple[Declaration, list[Group]]:
    """Lock the generations of the call, in the order in which all lock them, and then the conflict."""
    found = Declaration.objects.filter(pk=conflict, held=False).select_related("group__owner").first()
    if found is None:
        raise policies.NotFoundError("conflict", str(conflict))
    generations = record.generations(found.group.key, owner=found.group.owner)
    row = Declaration.objects.select_for_update(of=("self",)).get(pk=conflict)
    row.group = next(group for group in generations if group.pk == row.group_id)
    return row, generations


def _as_it_is(row: Declaration, wanted: Resolution, *, by: Actor) -> Resolved:
    if row.resolution != wanted:
        raise AlreadyResolvedError(row, by=by)
    return Resolved(row, row.group, split_into=row.split_into, already=True)


def _stamp(row: Declaration, wanted: Resolution, reason: str, *, held: int, by: Actor, now: datetime) -> None:
    row.resolution, row.resolved_reason = wanted.value, reason
    row.resolved_at, row.resolved_by = now, str(by.party)
    differing = len(row.difference.get("only_second", [])) + len(row.difference.get("changed", []))
    row.numbers = {"declared": len(row.effects), "held": held, "differing": differing}


# -- What each does ---------------------------------------------------------------------------------------------------


def _adopt(row: Declaration, members: list[Effect], _generations: list[Group], now: datetime) -> Resolved:
    """Have what only the repeat declares join its group, after the others.

    The same object with another operation joins as a member of its own, since it takes another way back. With
    another version only, the member that is held takes that version while nothing was asked about it; what was asked
    or undone was of the version before, so then the repeat's joins beside it.
    """
    apart = difference([declared_as(member) for member in members], _declared(row))
    joining, changed = [Declared.from_json(one) for one in apart["only_second"]], []
    for pair in apart["changed"]:
        held = _takes_version(pair, members)
        if held is None:
            joining.append(Declared.from_json(pair["second"]))
        else:
            held.version = pair["second"].get("version", "")
            held.save(update_fields=["version"])
            changed.append(pair)
    if not joining and not changed:
        raise NothingToAdoptError(row)
    new = _classified(joining, row.group)
    window, last = window_of(row.group, row.first_seen_at), members[-1].position if members else -1
    rows = [row_of(row.group, last + place, one, now, window) for place, one in enumerate(new, 1)]
    Effect.objects.bulk_create(rows)
    return Resolved(row, row.group, new, changed, along=_compared_anew(row, [*members, *rows]))


def _takes_version(pair: dict[str, Any], members: Sequence[Effect]) -> Effect | None:
    first = Declared.from_json(pair["first"])
    if pair["first"]["operation"] != pair["second"]["operation"]:
        return None
    same = (member for member in members if declared_as(member).identity() == first.identity())
    return next((member for member in same if member.state == EffectState.ACTIVE), None)


def _compared_anew(row: Declaration, members: Sequence[Effect]) -> list[Declaration]:
    """Compare what is still undecided with what is held from now on; what agrees with it by now is decided along."""
    held, anew = [declared_as(member) for member in members], []
    others = Declaration.objects.filter(group=row.group, held=False, kept=True, resolved_at=None)
    for other in others.exclude(pk=row.pk).order_by("pk"):
        other.difference = difference(held, _declared(other))
        if not is_difference(other.difference):
            other.resolution, other.resolved_reason = row.resolution, row.resolved_reason
            other.resolved_at, other.resolved_by = row.resolved_at, row.resolved_by
            other.numbers = {"declared": len(other.effects), "held": len(held), "differing": 0}
        anew.append(other)
    return anew


def _split(row: Declaration, _members: list[Effect], generations: list[Group], _now: datetime) -> Resolved:
    """Have the repeat stand as a group of its own, under the next generation of the key, as of when it was declared."""
    old, at = row.group, row.first_seen_at
    agent = Agent.objects.filter(name=row.declared_by.removeprefix("agent:")).first()
    same = ("owner", "tool", "tool_version", "source", "conversation", "run", "execution", "step", "title")
    new = Group.objects.create(
        **{name: getattr(old, name) for name in (*same, "key", "explicit_key", "fingerprint")},
        agent=agent if row.declared_by.startswith("agent:") else old.agent,
        generation=max(group.generation for group in generations) + 1,
        state=GroupState.LANDED,
        opened_at=at,
        opened_by=row.declared_by,
        landed_at=at,
    )
    effects, window = _classified(_declared(row), new), window_of(new, at)
    Effect.objects.bulk_create([row_of(new, place, one, at, window) for place, one in enumerate(effects)])
    Declaration.objects.create(
        group=new,
        digest=row.digest,
        effects=row.effects,
        held=True,
        seen=row.seen,
        first_seen_at=at,
        last_seen_at=row.last_seen_at,
        declared_by=row.declared_by,
    )
    row.split_into = new
    return Resolved(row, old, effects, split_into=new)


def _dismiss(row: Declaration, _members: list[Effect], _generations: list[Group], _now: datetime) -> Resolved:
    """Let what is held be all that counts."""
    return Resolved(row, row.group)


ACTS: dict[Resolution, Callable[[Declaration, list[Effect], list[Group], datetime], Resolved]] = {
    Resolution.ADOPT: _adopt,
    Resolution.SPLIT: _split,
    Resolution.DISMISS: _dismiss,
}


def _declared(row: Declaration) -> list[Declared]:
    return [Declared.from_json(effect) for effect in row.effects]


def _classified(effects: Sequence[Declared], group: Group) -> list[NewEffect]:
    """Give each object the class of the contract that is pinned to the group."""
    version = group.tool_version
    contract = Contract.from_json(version.contract) if version else None
    return classified(effects, contract, version.target if version else None)


# -- What stands on the log of it -------------------------------------------------------------------------------------


def _entries(done: Resolved, authority: policies.Authority, *, by: Actor) -> list[log.Entry]:
    """Return the records of one decision: of the conflict, of those decided along with it, of what was split off."""
    decided = [done.declaration, *(row for row in done.along if row.resolved_at is not None)]
    entries = [_resolved(row, done, authority, by=by) for row in decided]
    return [*entries, _apart(done, done.split_into, by=by)] if done.split_into else entries


def _resolved(row: Declaration, done: Resolved, authority: policies.Authority, *, by: Actor) -> log.Entry:
    group, is_own = done.group, row is done.declaration
    joined = done.joined if is_own and done.split_into is None else ()
    conflict_open = group.pk in queries.open_conflicts([group.pk])
    members = [member.as_member() for member in group.effects.all()]
    return log.Entry(
        action="conflict_resolved",
        target=("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        subjects=[(effect["type"], effect["id"]) for effect in row.effects if effect.get("id")],
        data={
            **group.call_words(),
            "declaration": str(row.pk),
            "resolution": row.resolution,
            "authority": authority.value,
            "reason": row.resolved_reason,
            "declared": str(row.numbers["declared"] if row.kept else row.seen),
            "held": str(row.numbers["held"]),
            "joined": [member_words(one) for one in joined],
            "changed": list(done.changed) if is_own else [],
            "stands_in": str(done.split_into.pk) if done.split_into else "",
            "complete": is_complete(GroupState(group.state), members, conflict_open=conflict_open),
            "conflict_open": conflict_open,
        },
    )


def _apart(done: Resolved, new: Group, *, by: Actor) -> log.Entry:
    first = done.joined[0].declared if done.joined else None
    return log.Entry(
        action="group_split",
        target=(first.type, first.id) if first else ("group", str(new.pk)),
        actor=by.party,
        owner=party_of(new.owner),
        group=str(new.pk),
        subjects=[(one.declared.type, one.declared.id) for one in done.joined if one.declared.id],
        data={
            **new.call_words(),
            "source": new.source,
            "generation": str(new.generation),
            "from_group": str(done.group.pk),
            "declaration": str(done.declaration.pk),
            "declared_by": done.declaration.declared_by,
            "members": [member_words(one) for one in done.joined],
        },
    )
