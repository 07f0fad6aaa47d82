"""Remove the local members of groups whose revoke is decided, stamp them, and put it on the log."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from audit import log
from audit.events import Party
from sideeffects import setwise
from sideeffects.actors import Actor, party_of
from sideeffects.models import Effect, MemberOutcome, Revocation
from sideeffects.services.answers import Answer, MemberAnswer, Result
from sideeffects.services.ask import ask
from sideeffects.services.decided import Decided, revoked_piece
from sideeffects.setwise import among
from sideeffects.targets import local
from sideeffects.transitions import EffectState, Operation, Outcome, effect_after, outcome_of

Trigger = Revocation.Trigger


def remove(
    decided: Sequence[Decided],
    rows: local.Rows,
    *,
    by: Actor,
    now: datetime,
    reason: str,
    trigger: Trigger,
    batch: UUID | None = None,
) -> dict[UUID, Result]:
    """Take the local members of all these groups back, have targets asked about the others, and return the answers.

    A local failure undoes the requests too, since nothing of them has left the database. Inside the caller's
    transaction; the groups and `rows` are locked. Raises MembersFailedError. Writes `COMPENSATE`.
    """
    passed_over, lying = _passed_over(decided, rows, now=now), _lying(decided, rows)
    absent = rows.take_back([piece for one in decided for piece in one.pieces], by=str(by.party), now=now)
    alike: dict[str, Any] = {
        "asked_at": now,
        "asked_by": str(by.party),
        "user_id": by.user.pk,
        "agent_id": by.token.agent_id if by.token else None,
        "trigger": trigger.value,
        "batch_id": batch,
        "reason": reason,
    }
    _keep(decided, alike)
    _move(decided, absent, now=now)
    asked = {one.group.pk: one for one in decided if one.to_ask}
    revocations = {key: _revocation(one, alike) for key, one in asked.items()}
    ask({key: one.to_ask for key, one in asked.items()}, revocations, now=now)
    _stamp(decided, now=now)
    _note_overridden(decided, passed_over, rows, now=now)
    _note_put_back(lying, rows, now=now)
    answers = [_answer(one) for one in decided]
    _keep_outcomes(decided, answers)
    said = {name: alike[name] for name in ("trigger", "reason", "asked_by")} | {"batch": str(batch or "")}
    entries = [
        _compensate(one, answer, said, actor=by.party, found_by=of_batch(batch))
        for one, answer in zip(decided, answers, strict=True)
    ]
    for answer, record in zip(answers, log.append(entries, now=now), strict=True):
        answer.record = record
    return {answer.group.pk: Result(answer.group.pk, answer) for answer in answers}


def _revocation(one: Decided, alike: Mapping[str, Any]) -> Revocation:
    return Revocation(id=one.revocation, group=one.group, authority=one.authority.value, **alike)


def _keep(decided: Sequence[Decided], alike: Mapping[str, Any]) -> None:
    """Insert the revocations; they are alike in all but which group each is about, and on what authority."""
    each: dict[str, Sequence[Any]] = {
        "id": [one.revocation for one in decided],
        "group_id": [one.group.pk for one in decided],
        "authority": [one.authority.value for one in decided],
    }
    setwise.insert(Revocation, same=alike, each=each)


def _keep_outcomes(decided: Sequence[Decided], answers: Sequence[Answer]) -> None:
    found = [
        (one.revocation, member) for one, answer in zip(decided, answers, strict=True) for member in answer.members
    ]
    each: dict[str, Sequence[Any]] = {
        "revocation_id": [key for key, _ in found],
        "effect_id": [member.effect.pk for _, member in found],
        "outcome": [member.outcome.value for _, member in found],
        "detail": [member.detail for _, member in found],
    }
    setwise.insert(MemberOutcome, same={}, each=each)


def _move(decided: Sequence[Decided], absent: set[local.Key], *, now: datetime) -> None:
    """Move each local member by the table, in memory."""
    purge_at = now + timedelta(days=settings.TRASH_DAYS)
    for one, effect in _local(decided):
        gone = (effect.type, effect.object_id) in absent
        effect.state = effect_after(EffectState(effect.state), "find_gone" if gone else "revoke")
        effect.state_at, effect.restored_at, effect.restored_by = now, None, ""
        if not gone:
            effect.revocation_id, effect.purge_at = one.revocation, purge_at


def _local(decided: Sequence[Decided]) -> list[tuple[Decided, Effect]]:
    return [(one, effect) for one in decided for effect in one.local_members]


def _stamp(decided: Sequence[Decided], *, now: datetime) -> None:
    """Write the new states set-wise: one statement for what was removed, one for what was gone."""
    moved = _local(decided)
    removed = [(effect.pk, one.revocation) for one, effect in moved if effect.state == EffectState.REVOKED]
    stamps = {"state_at": now, "restored_at": None, "restored_by": ""}
    if removed:
        lying = {"state": EffectState.REVOKED.value, "purge_at": now + timedelta(days=settings.TRASH_DAYS)}
        effects, keys = zip(*removed, strict=True)
        setwise.update(Effect, same={**stamps, **lying}, each={"id": effects, "revocation_id": keys})
    if gone := [effect.pk for _, effect in moved if effect.state == EffectState.GONE]:
        Effect.objects.filter(among("id", gone)).update(state=EffectState.GONE, **stamps)


def _overridden(decided: Sequence[Decided]) -> list[tuple[Effect, local.Piece]]:
    """Return the members whose later changes are passed over."""
    return [
        (effect, piece)
        for one in decided
        if one.edits
        for effect, piece in zip(one.local_members, one.pieces, strict=True)
        if piece.key in one.edits
    ]


def _passed_over(decided: Sequence[Decided], rows: local.Rows, *, now: datetime) -> dict[local.Key, str]:
    """Keep, before anything is written, the version that each row is at which an override sets back."""
    changed = [piece for _, piece in _overridden(decided) if piece.operation is Operation.UPDATE]
    return rows.versions(changed, now=now)


def _note_overridden(
    decided: Sequence[Decided], passed_over: dict[local.Key, str], rows: local.Rows, *, now: datetime
) -> None:
    """Keep the version that a row is at after an override, since no other says what it says; and the one before."""
    overridden = _overridden(decided)
    if not overridden:
        return
    versions = rows.versions([piece for _, piece in overridden], now=now)
    for effect, piece in overridden:
        effect.version_undone = versions[piece.key]
        effect.version_over = passed_over.get(piece.key, "")
    Effect.objects.bulk_update([effect for effect, _ in overridden], ["version_undone", "version_over"])


def _lying(decided: Sequence[Decided], rows: local.Rows) -> list[tuple[Effect, local.Piece]]:
    """Return what other revocations keep in the trash as they left it, and this one is about to put back there."""
    pieces = [piece for one in decided for piece in one.pieces if piece.operation is Operation.UPDATE and piece in rows]
    owners = {piece.key: piece.owner for piece in pieces if not rows.is_standing(piece)}
    if not owners:
        return []
    kept = Effect.objects.filter(state=EffectState.REVOKED, operation=Operation.CREATE)
    found = kept.filter(type__in={type_ for type_, _ in owners}, object_id__in={key for _, key in owners})
    lying = [
        (effect, revoked_piece(effect, owners[effect.type, effect.object_id]))
        for effect in found
        if (effect.type, effect.object_id) in owners
    ]
    rows.read([piece for _, piece in lying])
    edited = rows.edits([piece for _, piece in lying])
    return [(effect, piece) for effect, piece in lying if piece.key not in edited]


def _note_put_back(lying: Sequence[tuple[Effect, local.Piece]], rows: local.Rows, *, now: datetime) -> None:
    """Keep how this leaves what lies in the trash: it was no edit, so it stands in no restore's way."""
    if not lying:
        return
    versions = rows.versions([piece for _, piece in lying], now=now)
    for effect, piece in lying:
        effect.version_undone = versions[piece.key]
    Effect.objects.bulk_update([effect for effect, _ in lying], ["version_undone"])


def _answer(one: Decided) -> Answer:
    outcomes = [(effect, outcome_of(effect.as_member())) for effect in one.members]
    members = [MemberAnswer(effect, outcome, _detail(effect, outcome, one)) for effect, outcome in outcomes]
    return Answer(one.group, members, one.conflict_open, revocation=one.revocation)


_DONE = {Operation.UPDATE: "put back to the version before", Operation.DELETE: "undeleted"}
_NOTHING_LEFT = {Operation.DELETE: "stood again already, not by this"}


def _detail(effect: Effect, outcome: Outcome, one: Decided) -> str:
    operation = Operation(effect.operation)
    if outcome is Outcome.ALREADY_GONE:
        return _NOTHING_LEFT.get(operation, "was already gone, not by this")
    if outcome is Outcome.NOT_ATTEMPTED:
        return one.obstacles.get(effect.pk, "")
    if outcome is not Outcome.REVOKED:
        return effect.reason
    edit = one.edits.get((effect.type, effect.object_id))
    over = f"over later changes of {edit.labels}" if edit else ""
    return " ".join(words for words in (_DONE.get(operation, ""), over) if words)[:500]


def _compensate(
    one: Decided,
    answer: Answer,
    said: Mapping[str, Any],
    *,
    actor: Party,
    found_by: Sequence[tuple[str, str]],
) -> log.Entry:
    """Return the record of one group; `said` is what it says in the words of all."""
    principal = one.members[0]
    return log.Entry(
        action="COMPENSATE",
        target=(principal.type, principal.object_id),
        actor=actor,
        owner=party_of(one.group.owner),
        group=str(one.group.pk),
        outcome=answer.outcome.value,
        subjects=[
            *((effect.type, effect.object_id) for effect in one.members if effect.object_id),
            *found_by,
        ],
        data={
            **said,
            "revocation": str(one.revocation),
            "tool": one.group.tool,
            "tool_version": one.group.version_number(),
            "authority": one.authority.value,
            "settles": "false",
            "overrides": "true" if one.edits else "false",
            "attempts": [],
            "complete": answer.complete,
            "conflict_open": one.conflict_open,
            "counts": answer.counts,
            "members": [_member(member) for member in answer.members],
        },
    )


def of_batch(batch: UUID | None) -> list[tuple[str, str]]:
    """Return what the log finds all records of a batch by; nothing where it was asked for alone."""
    return [("batch", str(batch))] if batch else []


def _member(member: MemberAnswer) -> dict[str, str]:
    effect = member.effect
    words = {
        "type": effect.type,
        "id": effect.object_id,
        "operation": effect.operation,
        "class": effect.revoke_class,
        "target": effect.target.name if effect.target else "",
        "outcome": member.outcome.value,
        "detail": member.detail,
    }
    return {name: value for name, value in words.items() if value}
