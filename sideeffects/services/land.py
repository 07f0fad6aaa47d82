"""Settle what a call wrote: land it with its effects, or take the agent's word that it failed or was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.dateparse import parse_datetime

from audit import log
from sideeffects import policies
from sideeffects.actors import Actor, party_of
from sideeffects.declarations import Declared, declaration_digest
from sideeffects.models import Above, Declaration, Effect, Group, Target
from sideeffects.services import compare, fence
from sideeffects.tools import NOT_DECLARED, Contract
from sideeffects.transitions import GroupState, RevokeClass, group_after

NOT_WRITTEN_HERE = "This tool runs here, but the agent says that it ran elsewhere; nothing known would undo that"


@dataclass(frozen=True)
class NewEffect:
    """One declared object with the class that its tool's contract gives it.

    Of a local one also the versions before and after, and the local objects of others that it hangs `under`.
    """

    declared: Declared
    revoke_class: RevokeClass
    reason: str = ""
    target: Target | None = None
    before: str = ""
    after: str = ""
    under: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Written:
    """All that stands of a group that was not there before: what was put on the log, and its members."""

    records: Sequence[Any]
    effects: Sequence[Effect] = ()


@dataclass(frozen=True)
class Recorded:
    """What recording came to: `result` is recorded, opened, replayed, conflict or failed (then there is no group).

    `created` where the group, or the conflict that is kept, has not been there before. `written` is there only for a
    group that has not, and then is all of it.
    """

    result: str
    group: Group | None = None
    conflict: Declaration | None = None
    created: bool = False
    written: Written | None = None

    def check_agrees(self) -> "Recorded":
        """Return itself; raises DeclarationConflictError where the declaration differs from the one held."""
        if self.result == "conflict" and self.group is not None and self.conflict is not None:
            raise DeclarationConflictError(self.group, self.conflict)
        return self


class DeclarationConflictError(Exception):
    """A repeat declared something else, and a person decides; both declarations are kept, or past a cap the first."""

    def __init__(self, group: Group, declaration: Declaration) -> None:
        self.group, self.difference = str(group.pk), declaration.difference
        self.conflict = None if declaration._state.adding else str(declaration.pk)  # past the cap it is only counted
        kept = "Both are kept" if self.conflict else "This one was counted and not kept, since too many are undecided"
        super().__init__(f"This call was declared before with other effects. {kept}; a person has to decide.")


class NotReportedError(Exception):
    """The call runs here; its landing is not an agent's to report."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__("This tool runs here, so its outcome is recorded here and cannot be reported.")


def classified(effects: Sequence[Declared], contract: Contract | None, target: Target | None) -> list[NewEffect]:
    """Give each *reported* object its class: never local, since only this process' own writes are (V3, R4)."""
    result = []
    for declared in effects:
        revoke_class, reason = (RevokeClass.NONE, NOT_DECLARED if contract is None else NOT_WRITTEN_HERE)
        if contract is not None and contract.revoke_class is not RevokeClass.LOCAL:
            revoke_class, reason = contract.classify(declared.operation, named=bool(declared.id))
        result.append(NewEffect(declared, revoke_class, reason, target))
    return result


def land(*, group: UUID, effects: Sequence[Declared], by: Actor, now: datetime, executing: bool = False) -> Recorded:
    """Land an open or lost call with what it declares; a landed one is compared (replay or conflict).

    `executing`: as a step of an execution. Raises NotFoundError, NotReportedError, TransitionError. Writes
    `group_landed` or `declaration_differed`.
    """
    with transaction.atomic():
        row = _locked(group, by=by, executing=executing)
        version = row.tool_version
        contract = Contract.from_json(version.contract) if version else None
        new = classified(effects, contract, version.target if version else None)
        return settle(row, new, by=by, now=now)


def fail(*, group: UUID, reason: str, by: Actor, now: datetime) -> Group:
    """Take the agent's word that an open call wrote nothing; its key is free again. Writes `call_failed`."""
    with transaction.atomic():
        return end(_locked(group, by=by), "fail", reason=reason, by=by, now=now)


def lose(*, group: UUID, reason: str, by: Actor, now: datetime) -> Group:
    """Take the agent's word that it lost track of an open call, which may still land. Writes `call_lost`."""
    with transaction.atomic():
        return end(_locked(group, by=by), "lose", reason=reason, by=by, now=now)


def _locked(group: UUID, *, by: Actor, executing: bool = False) -> Group:
    row = Group.objects.select_for_update(of=("self",)).select_related("owner").filter(pk=group).first()
    if row is None:
        raise policies.NotFoundError("group", str(group))
    policies.check_may_report_on(by, row, executing=executing)
    if row.source == Group.Source.EXECUTED:
        raise NotReportedError(row)
    return row


def end(group: Group, action: str, *, reason: str, by: Actor, now: datetime) -> Group:
    """Move a locked open group by `fail` or `lose`; a repeat of the same word changes nothing."""
    state = GroupState(group.state)
    if (state, action) in {(GroupState.FAILED, "fail"), (GroupState.LOST, "lose")}:
        return group
    group.state = group_after(state, action)
    group.ended_at, group.reason, group.lease_until = now, reason[:1000], None
    group.save(update_fields=["state", "ended_at", "reason", "lease_until"])
    entry = log.Entry(
        action="call_failed" if action == "fail" else "call_lost",
        target=("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        data={**group.call_words(), "error": group.reason},
    )
    log.append([entry], now=now)
    if group.state == GroupState.FAILED:
        fence.nudge(group)
    return group


def settle(group: Group, effects: Sequence[NewEffect], *, by: Actor, now: datetime, occurrence: int = 0) -> Recorded:
    """Hold the first declaration of a locked group; compare any later one with it; a failed one lands no more.

    `occurrence` is how often this very declaration stands in the source that is read (an import, which may be read
    again); 0 counts one more. Raises TransitionError.
    """
    if group.state != GroupState.LANDED:
        return _hold(group, effects, by=by, now=now)
    declared = [new.declared for new in effects]
    conflict, kept = compare.with_held(group, declared, by=by, now=now, occurrence=occurrence)
    return Recorded("conflict" if conflict else "replayed", group, conflict, created=kept)


def _hold(group: Group, effects: Sequence[NewEffect], *, by: Actor, now: datetime) -> Recorded:
    """Land the group, which may be unsaved: effects, the declaration that is held, the state, the record."""
    is_new = group._state.adding
    group.state = group_after(GroupState(group.state), "land")
    group.landed_at, group.lease_until = now, None
    group.save(force_insert=is_new, update_fields=None if is_new else ["state", "landed_at", "lease_until"])
    declared = [new.declared for new in effects]
    window = window_of(group, now)
    rows = [row_of(group, position, new, now, window) for position, new in enumerate(effects)]
    Effect.objects.bulk_create(rows)
    Above.objects.bulk_create(
        Above(effect=row, type=type_, object_id=key)
        for row, new in zip(rows, effects, strict=True)
        for type_, key in new.under
    )
    Declaration.objects.create(
        group=group,
        digest=declaration_digest(declared),
        effects=[effect.as_json() for effect in declared],
        held=True,
        first_seen_at=now,
        last_seen_at=now,
        declared_by=str(by.party),
    )
    entry = log.Entry(
        action="group_landed",
        target=(declared[0].type, declared[0].id) if declared else ("group", str(group.pk)),
        actor=by.party,
        owner=party_of(group.owner),
        group=str(group.pk),
        subjects=[(effect.type, effect.id) for effect in declared if effect.id],
        data={
            **group.call_words(),
            "source": group.source,
            "generation": str(group.generation),
            "members": [member_words(new) for new in effects],
        },
    )
    records = log.append([entry], now=now)
    if is_new:  # nobody could have set a fence
        return Recorded("recorded", group, written=Written(records, rows) if all(map(log.is_whole, records)) else None)
    fence.nudge(group)
    return Recorded("recorded", group)


def member_words(new: NewEffect) -> dict[str, str]:
    """Return how the log names a member that is declared."""
    declared = new.declared
    target = new.target.name if new.target else ""
    member = {"type": declared.type, "id": declared.id, "operation": declared.operation.value, "target": target}
    return {**{name: value for name, value in member.items() if value}, "class": new.revoke_class.value}


def window_of(group: Group, now: datetime) -> datetime | None:
    """Return when the undo window ends that the tool declares for all it writes; None where it declares none."""
    contract = Contract.from_json(group.tool_version.contract) if group.tool_version else None
    return now + timedelta(minutes=contract.undo_minutes) if contract and contract.undo_minutes else None


def row_of(group: Group, position: int, new: NewEffect, now: datetime, window: datetime | None) -> Effect:
    """Return the unsaved member at this position; `window` is what the tool declares where the call says nothing."""
    declared = new.declared
    unsaid = (
        window if new.revoke_class is RevokeClass.EXTERNAL else None
    )  # the call's own word counts before the tool's
    return Effect(
        group=group,
        position=position,
        type=declared.type,
        object_id=declared.id,
        operation=declared.operation.value,
        title=declared.title,
        version=declared.version,
        version_before=new.before,
        version_after=new.after,
        undo_expires_at=parse_datetime(declared.undo_expires_at) if declared.undo_expires_at else unsaid,
        revoke_class=new.revoke_class.value,
        reason=new.reason,
        target=new.target if new.revoke_class is not RevokeClass.LOCAL else None,
        state_at=now,
    )
