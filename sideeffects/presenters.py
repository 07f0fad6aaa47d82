"""What do pages and the API say of a group and its members? The words, and what may be done next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar

from django.conf import settings
from django.utils import formats, timezone

from audit import log
from sideeffects import decisionwords, policies, queries, words
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from sideeffects.models import Declaration, Effect, Fence, Group, Revocation
from sideeffects.transitions import (
    EffectState,
    GroupState,
    Member,
    Operation,
    Outcome,
    RevokeClass,
    Standing,
    is_complete,
    outcome_of,
    standing_of,
)


def date_text(moment: datetime | None) -> str:
    """Return a date as pages and API write it inside sentences, e.g. `30 Dec 2026`, in the time zone in force."""
    return formats.date_format(timezone.localtime(moment), "j M Y") if moment else ""


def moment_text(moment: datetime) -> str:
    """Return a moment as pages write it inside sentences, with its zone, e.g. `30 Dec 2026, 14:02 CET`."""
    local = timezone.localtime(moment)
    return f"{formats.date_format(local, 'j M Y, H:i')} {local.tzname()}"


@dataclass
class GroupView:
    """A group as it is shown to someone: its sentence, its counts, and what that person may do about it."""

    rows: queries.GroupRows
    by: Actor
    is_fresh: ClassVar[bool] = False  # true where it was recorded just now: nothing can have been asked or built on it

    @property
    def group(self) -> Group:
        """Return the row itself."""
        return self.rows.group

    @property
    def principal(self) -> Effect | None:
        """Return the root business object, where anything was declared."""
        return self.rows.principal

    @cached_property
    def open_conflicts(self) -> list[Declaration]:
        """Return the declarations that differ and that nobody has decided about."""
        return [row for row in self.rows.conflicts if row.resolved_at is None]

    @cached_property
    def members(self) -> list[Member]:
        """Return one member for each kind of them: enough for the group's name."""
        return [
            Member(RevokeClass(one.revoke_class), EffectState(one.state), restored=one.restored)
            for one in self.rows.tallies
        ]

    @property
    def declared(self) -> int:
        """Return how many objects the call declares: what is known, never *everything*."""
        return sum(one.count for one in self.rows.tallies)

    @cached_property
    def standing(self) -> Standing:
        """Return what the group is called."""
        return standing_of(GroupState(self.group.state), self.members, conflict_open=bool(self.open_conflicts))

    @property
    def complete(self) -> bool:
        """Say whether everything declared is undone."""
        return is_complete(GroupState(self.group.state), self.members, conflict_open=bool(self.open_conflicts))

    @property
    def counts(self) -> dict[EffectState, int]:
        """Return how many members are in each state."""
        counts: Counter[EffectState] = Counter()
        for one in self.rows.tallies:
            counts[EffectState(one.state)] += one.count
        return dict(counts)

    @property
    def outcomes(self) -> dict[str, int]:
        """Return how many members have each outcome by now."""
        counts: Counter[str] = Counter()
        for one, member in zip(self.rows.tallies, self.members, strict=True):
            counts[outcome_of(member).value] += one.count
        if left := self.rows.asked.unanswered:  # what has left and has no answer may have arrived
            counts += Counter({Outcome.UNKNOWN.value: left})
            counts -= Counter({Outcome.NOT_SENT.value: left})
        return dict(counts)

    @cached_property
    def state_words(self) -> words.Words:
        """Return the sentence that says where the group stands."""
        return words.of_group(self.facts)

    @cached_property
    def facts(self) -> words.GroupFacts:
        """Return what its sentences depend on."""
        none = [one for one in self.rows.tallies if one.revoke_class == RevokeClass.NONE]
        return words.GroupFacts(
            standing=self.standing,
            counts=self.counts,
            none=sum(one.count for one in none if one.state == EffectState.ACTIVE),
            reason="; ".join(dict.fromkeys(one.reason for one in none)),
            more_declared=self.more_declared,
            conflict_open=bool(self.open_conflicts),
            restored=sum(one.count for one in self.rows.tallies if one.restored and one.state == EffectState.ACTIVE),
            trash_until=date_text(self.rows.trash_until),
            revoked=self.revoked,
            at=self._since,
            unanswered=self.rows.asked.unanswered,
            targets=", ".join(self.asked_targets),
            lease_over=self.rows.lease_over,
        )

    @property
    def revoked(self) -> frozenset[Operation]:
        """Return what had been done to the members that are revoked here now."""
        return frozenset(Operation(one.operation) for one in self.rows.tallies if one.state == EffectState.REVOKED)

    @property
    def _since(self) -> datetime:
        """Return when its sentence began to be true; while targets are waited for, when the first of them was asked."""
        waits = self.rows.asked.since if self.standing is Standing.REQUESTED else None
        moment: datetime = waits or self.rows.changed_at or self.group.ended_at or self.group.opened_at
        return moment

    @property
    def asked_targets(self) -> list[str]:
        """Return the systems that have been asked and whose word is still to come."""
        waiting = {EffectState.REQUESTING, EffectState.COMPENSATING}
        return sorted({one.target for one in self.rows.tallies if one.target and one.state in waiting})

    @property
    def more_declared(self) -> int:
        """Return how many objects open conflicts declare that are not held here, each once however many declare it."""
        not_held: Counter[tuple[str, ...]] = Counter()
        for row in self.open_conflicts:
            not_held |= Counter(
                tuple(Declared.from_json(one).identity()) for one in row.difference.get("only_second", [])
            )
        return not_held.total()

    @property
    def stale_at(self) -> datetime | None:
        """Return from when on it counts as stale: its call while that is in flight, else what was asked of targets."""
        if self.group.state not in {GroupState.OPEN, GroupState.LOST}:
            return self.rows.asked.stale_at
        return stale_at(self.group)

    @property
    def open_since(self) -> datetime | None:
        """Return since when nothing has moved of what is unresolved."""
        in_flight = self.group.state in {GroupState.OPEN, GroupState.LOST}
        return self.group.opened_at if in_flight else self.rows.asked.open_since

    @property
    def fence(self) -> Fence | None:
        """Return the fence that waits for it to arrive."""
        return self.rows.fence if self.rows.fence and self.rows.fence.is_waiting else None

    @property
    def can_fence(self) -> bool:
        """Say whether whoever looks may have it revoked when it arrives, given a reason where one is needed."""
        in_flight = self.group.state in {GroupState.OPEN, GroupState.LOST}
        return in_flight and self.fence is None and policies.may_revoke(self.by, self.group)

    @property
    def can_lift(self) -> bool:
        """Say whether this person may lift the fence that waits."""
        return self.fence is not None and policies.may_decide(self.by, self.group)

    @property
    def decided(self) -> list[Declaration]:
        """Return the declarations that differed and were decided about."""
        return [row for row in self.rows.conflicts if row.resolved_at is not None]

    @property
    def summary(self) -> words.Words:
        """Say what the call did, in the system's own words."""
        if not self.rows.tallies:
            return words.called(self.group.tool)
        kinds: dict[tuple[str, str], int] = {}
        for one in self.rows.tallies:
            kinds[one.operation, one.type] = kinds.get((one.operation, one.type), 0) + one.count
        written = [words.Written(Operation(operation), type_, count) for (operation, type_), count in kinds.items()]
        return words.summary(written, principal_id=self.principal.object_id if self.principal else "")

    @property
    def agents_words(self) -> str:
        """Return what the agent calls it: shown as its words, after the system's own."""
        return self.group.title or (self.principal.title if self.principal else "")

    @property
    def targets(self) -> list[str]:
        """Return the systems that hold members of it."""
        return sorted({one.target for one in self.rows.tallies if one.target})

    @property
    def classes(self) -> list[str]:
        """Return how far a revoke of its members can get, the names of the classes."""
        return list(dict.fromkeys(one.revoke_class for one in self.rows.tallies))

    @property
    def taken_back(self) -> Revocation | None:
        """Return the revocation by which it is taken back now, as a whole."""
        return self.rows.revocation if self.standing is Standing.REVOKED else None

    @property
    def can_revoke(self) -> bool:
        """Say whether a revoke by whoever looks would take anything back now."""
        return (
            self.group.state == GroupState.LANDED
            and policies.may_revoke(self.by, self.group)
            and any(
                one.state == EffectState.ACTIVE
                and (one.revoke_class == RevokeClass.LOCAL or (one.askable and self.may_ask(one)))
                for one in self.rows.tallies
            )
        )

    def may_ask(self, tally: queries.Tally) -> bool:
        """Say whether the undo window of these members lets whoever looks ask; past it only an admin may."""
        return not tally.window_over or self.by.is_admin

    @property
    def can_restore(self) -> bool:
        """Say whether this person may restore something of it from the trash."""
        return policies.may_decide(self.by, self.group) and bool(self.counts.get(EffectState.REVOKED))

    @property
    def needs_reason(self) -> bool:
        """Say whether acting on it takes a typed reason, since it is another's."""
        return not self.by.owns(self.group.owner_id)

    @property
    def waits_for_targets(self) -> bool:
        """Say whether members stand that only a target could undo which no admin has registered."""
        return any(
            one.state == EffectState.ACTIVE and one.revoke_class == RevokeClass.EXTERNAL and not one.askable
            for one in self.rows.tallies
        )

    @property
    def notes(self) -> list[words.Words]:
        """Return what else is known of the call, in sentences."""
        call = words.CallFacts(
            again_after_revoke=self.group.again_after_revoke,
            repeats=self.group.repeats,
            not_kept=self.group.declarations_not_kept,
        )
        return [*self.decisions, *words.notes(call)]

    @property
    def decisions(self) -> list[words.Words]:
        """Return what people decided about it, for ever after: on differences, and that it be revoked on arrival."""
        said = [decisionwords.decided(_decision(row)) for row in self.decided]
        if self.rows.split_from is not None:
            row = self.rows.split_from
            said.append(decisionwords.split_from(str(row.group_id), name_of(row.resolved_by)))
        fence = self.rows.fence
        if fence is not None:
            arrived = self.group.state not in {GroupState.OPEN, GroupState.LOST}
            said += decisionwords.fenced(fence.state, name_of(fence.set_by), fence.detail, arrived=arrived)
        return said

    @property
    def fences(self) -> list[Fence]:
        """Return the fences that it had, newest first."""
        return queries.fences_of(self.group) if self.rows.fence else []

    def first_members(self, most: int) -> list[Effect]:
        """Return the first members, principal first."""
        return queries.first_members(self.group, most)

    def revocations(self, most: int) -> list[Revocation]:
        """Return who asked to take it back, newest first."""
        return queries.revocations_of(self.group, most)

    def records(self, most: int) -> list[Any]:
        """Return what stands of it on the log, newest first."""
        return log.about(group=str(self.group.pk), most=most)


def name_of(stored: str) -> str:
    """Return who is meant by what rows hold, e.g. `user:alice`: a person by name, anything else with what it is."""
    kind, _, name = stored.partition(":")
    return name if kind == "user" else f"{kind} {name}"


def _decision(row: Declaration) -> decisionwords.Decision:
    return decisionwords.Decision(
        resolution=row.resolution,
        by=name_of(row.resolved_by),
        stands_in=str(row.split_into_id or ""),
        kept=row.kept,
        seen=row.seen,
        **row.numbers,
    )


def stale_at(group: Group) -> datetime:
    """Return from when on a call in flight counts as stale, also where no sweep has stamped it yet."""
    pinned: Mapping[str, Any] = group.tool_version.contract if group.tool_version else {}
    minutes = pinned.get("stale_minutes") or settings.STALE_MINUTES
    return group.stale_since or group.opened_at + timedelta(minutes=minutes)


def views_of(groups: Sequence[Group], *, by: Actor) -> list[GroupView]:
    """Return the groups as this person sees them, in a fixed number of queries."""
    return [GroupView(rows, by) for rows in queries.rows_of(groups)]


def fate_words(revocation: Revocation, *, until: datetime | None, conflict_open: bool) -> words.Words:
    """Return the sentence that says when what a revocation keeps in the trash leaves it."""
    return words.fate(
        words.TrashFacts(
            until=date_text(until),
            announced=revocation.purge_announced_at is not None,
            conflict_open=conflict_open,
            held_why=revocation.purge_held_why,
        )
    )


def effect_words(effect: Effect) -> words.Words:
    """Return the sentence that says where one effect stands."""
    return words.of_effect(
        words.EffectFacts(
            state=EffectState(effect.state),
            revoke_class=RevokeClass(effect.revoke_class),
            operation=Operation(effect.operation),
            reason=effect.reason,
            target=effect.target.name if effect.target else "",
            trash_until=date_text(effect.purge_at),
            restored=effect.restored_at is not None,
            at=effect.state_at,
        )
    )


def how_far(effect: Effect) -> str:
    """Say how far a revoke of this effect gets."""
    if effect.revoke_class == RevokeClass.LOCAL:
        return words.HOW_HERE[Operation(effect.operation)]
    return words.HOW_FAR[RevokeClass(effect.revoke_class)]


def difference_shown(row: Declaration, most: int) -> dict[str, Any]:
    """Return how a declaration differs from the one that is held, of each list the first members."""
    return {name: value[:most] if isinstance(value, list) else value for name, value in row.difference.items()}


@dataclass
class TrashView:
    """What the restore of one revocation would bring back: how many objects of each type, and what stays as it is."""

    revocation: Revocation
    group: GroupView
    types: dict[str, int]
    until: datetime | None = None

    @property
    def number(self) -> int:
        """Return how many objects come back."""
        return sum(self.types.values())

    @property
    def stays(self) -> int:
        """Return how many members of the group a restore leaves as they are."""
        return self.group.declared - self.number

    @property
    def in_trash_until(self) -> datetime | None:
        """Return when they are purged, as fixed at the revoke."""
        return self.until

    @property
    def fate(self) -> words.Words:
        """Say when they leave for good, or what holds them."""
        held = bool(self.group.open_conflicts)
        return fate_words(self.revocation, until=self.until, conflict_open=held)


def trash_of(revocations: Sequence[Revocation], *, by: Actor) -> list[TrashView]:
    """Return what each revocation would give back, in a fixed number of queries."""
    removed = queries.removed_by(revocations)
    groups = queries.shown(Group.objects.filter(pk__in=[row.group_id for row in revocations]))
    views = {view.group.pk: view for view in views_of(list(groups), by=by)}
    until = queries.kept_until(revocations)
    return [TrashView(row, views[row.group_id], removed[row.pk], until.get(row.pk)) for row in revocations]
