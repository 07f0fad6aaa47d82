"""Take a person's word, with evidence, for what a target does not tell; it is never drawn as the target's."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db import transaction

from audit import log
from sideeffects import policies
from sideeffects.actors import Actor, party_of
from sideeffects.models import Request
from sideeffects.services.move import Moved, move, save
from sideeffects.services.settle import lock
from sideeffects.services.told import tell
from sideeffects.transitions import EffectState, TransitionError


class Reason(StrEnum):
    """What a person's word rests on."""

    SEEN = "seen"  # looked it up in the target
    TOLD = "told"  # whoever runs the target said so
    BY_HAND = "by hand"  # undid it in the target themselves
    OTHER = "other"


class EvidenceRequiredError(Exception):
    """A person's word needs a known reason and what it rests on, in words."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.reasons = [reason.value for reason in Reason]
        super().__init__("Say what your word rests on: one of the reasons, and the evidence in a few words.")


class NotCurrentError(Exception):
    """The target was asked anew since; the newer request is the one to decide about."""

    def __init__(self, request: Request) -> None:
        self.request = str(request.pk)
        super().__init__("This was asked anew since; decide about the newer request.")


def attest(*, requests: Sequence[UUID], reason: str, evidence: str, by: Actor, now: datetime) -> list[Request]:
    """Hold these effects for undone on a person's word; all of them or none.

    An admin may attest for another's, the evidence being the typed reason. Raises NotFoundError, ReadOnlyError,
    ForPersonsOnlyError, EvidenceRequiredError, NotCurrentError, TransitionError. Writes `attested`, `COMPENSATE`.
    """
    evidence = evidence.strip()
    _check_given(reason, evidence)
    with transaction.atomic():
        rows = locked(requests)
        all_ = []
        for row in rows:
            policies.check_may_judge(by, row, reason=evidence, action="attest")
            all_.append(_attested(row, Reason(reason), evidence, by=by, now=now))
        save(all_)
        for row in rows:
            row.save(update_fields=["attested_at", "attested_by", "attested_reason", "attested_evidence"])
        log.append([_entry(one, by=by) for one in all_], now=now)
        tell(all_, by=by, now=now)
    return rows


def _check_given(reason: str, evidence: str) -> None:
    if reason not in {item.value for item in Reason}:
        raise EvidenceRequiredError("reason")
    if not evidence:
        raise EvidenceRequiredError("evidence")


def locked(requests: Sequence[UUID]) -> list[Request]:
    """Lock these requests and return them in order; raises NotFoundError."""
    rows = lock(list(dict.fromkeys(requests)))
    missing = next((key for key in requests if key not in rows), None)
    if missing is not None:
        raise policies.NotFoundError("request", str(missing))
    return [rows[key] for key in dict.fromkeys(requests)]


def _attested(row: Request, reason: Reason, evidence: str, *, by: Actor, now: datetime) -> Moved:
    if not row.current:
        raise NotCurrentError(row)
    one = Moved(row, EffectState(row.effect.state))
    if not move(one, "attest", detail=f"{by.party.name} attests it ({reason.value})", now=now):
        raise TransitionError(one.was, "attest")
    row.attested_at, row.attested_by, row.attested_reason = now, str(by.party), reason.value
    row.attested_evidence = evidence
    return one


def _entry(one: Moved, *, by: Actor) -> log.Entry:
    effect, row = one.request.effect, one.request
    return log.Entry(
        action="attested",
        target=(effect.type, effect.object_id),
        actor=by.party,
        owner=party_of(one.group.owner),
        group=str(one.group.pk),
        outcome="attested",
        data={
            "request": str(row.pk),
            "system": row.target.name,
            "was": one.was.value,
            "reason": row.attested_reason,
            "evidence": row.attested_evidence,
        },
    )
