"""Try again: ask a target once more about what it refused, or what is not known to have arrived."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import log
from sideeffects import policies
from sideeffects.actors import Actor, party_of
from sideeffects.models import Effect, Request
from sideeffects.services.ask import new_request, wake_carrier
from sideeffects.services.attest import NotCurrentError, locked
from sideeffects.services.move import Moved, move, save
from sideeffects.transitions import EffectState, TransitionError


class WindowClosedError(Exception):
    """The declared undo window is over, so only an admin may still ask the target."""

    def __init__(self, effect: Effect) -> None:
        self.effect, self.closed_at = str(effect.pk), effect.undo_expires_at
        super().__init__("The undo window is over as declared; only an admin may still ask the target.")


def again(*, requests: Sequence[UUID], reason: str, by: Actor, now: datetime) -> list[Request]:
    """Ask once more about each of these, all or none; returns the requests that are carried from here on.

    What was refused becomes a new request with a key of its own, since the target keeps its answer under the old one;
    what may have arrived keeps its key, so that it is never done twice. Raises NotFoundError, ReadOnlyError,
    ForPersonsOnlyError, ReasonRequiredError, NotCurrentError, WindowClosedError, TransitionError. Writes `asked_again`.
    """
    with transaction.atomic():
        asked = []
        for row in locked(requests):
            _check(row, reason=reason.strip(), by=by, now=now)
            asked.append(_asked(row, by=by, now=now))
        log.append([_entry(old, new, reason=reason.strip(), by=by) for old, new in asked], now=now)
        transaction.on_commit(wake_carrier, robust=True)
    return [new for _, new in asked]


def _check(row: Request, *, reason: str, by: Actor, now: datetime) -> None:
    policies.check_may_judge(by, row, reason=reason, action="try again")
    if not row.current:
        raise NotCurrentError(row)
    if policies.window_is_closed(by, row.effect, now=now):
        raise WindowClosedError(row.effect)


def _asked(row: Request, *, by: Actor, now: datetime) -> tuple[Request, Request]:
    one = Moved(row, EffectState(row.effect.state))
    if not move(one, "request", detail="", now=now):
        raise TransitionError(one.was, "request")
    if one.was is EffectState.REFUSED:
        return row, _anew(one, by=by, now=now)
    row.tries = row.asked_status = 0
    row.next_try_at = now
    row.asks_first = row.maybe_at is not None and bool(row.status_url or row.read_path)
    save([one])
    return row, row


def _anew(one: Moved, *, by: Actor, now: datetime) -> Request:
    """Leave the refused request as it is and put a new one in its place."""
    old = one.request
    Request.objects.filter(pk=old.pk).update(current=False, next_try_at=None, stale_at=None, needs_person_since=None)
    old.effect.save(update_fields=["state", "state_at"])
    new = new_request(old.effect, old.revocation, now=now)
    new.asked_by, new.user, new.agent = str(by.party), by.user, None
    new.suspended_at = old.suspended_at
    new.save(force_insert=True)
    return new


def _entry(old: Request, new: Request, *, reason: str, by: Actor) -> log.Entry:
    effect = new.effect
    return log.Entry(
        action="asked_again",
        target=(effect.type, effect.object_id),
        actor=by.party,
        owner=party_of(effect.group.owner),
        group=str(effect.group_id),
        data={
            "request": str(new.pk),
            "before": str(old.pk),
            "system": new.target.name,
            "reason": reason,
        },
    )
