"""Hear what a target says by itself: signed callbacks, where the newer word wins."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.dateparse import parse_datetime
from standardwebhooks import Webhook

from audit import log
from audit.inert import visible
from sideeffects.actors import Actor, party_of
from sideeffects.models import Callback, Target
from sideeffects.services.move import Moved, move, save
from sideeffects.services.settle import ASK_SOON, lock
from sideeffects.services.told import tell
from sideeffects.transitions import EffectState
from sideeffects.vault import CannotOpenError, open_

LARGEST = 64 * 1024
TOLERANCE = timedelta(minutes=5)
ACTIONS = {"done": "confirm", "failed": "refuse", "pending": "accept"}
WORDS = {
    "done": "the target says it is undone",
    "failed": "the target says it failed",
    "pending": "the target says it is not done yet",
}


class BadCallbackError(Exception):
    """A callback is not signed by the target it names, is too old, or cannot be read."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"This callback is not taken: {why}.")


class CallbackReplayedError(Exception):
    """A callback of this id was heard before; nothing changes."""

    def __init__(self, webhook_id: str) -> None:
        self.webhook_id = webhook_id
        super().__init__("A callback of this id was heard before; nothing has changed.")


class UnknownCallbackError(Exception):
    """The target has no such request."""

    def __init__(self, request: str) -> None:
        self.request = request
        super().__init__("There is no such request to this target.")


@dataclass(frozen=True)
class Word:
    """What a callback says: of which request, what, since when."""

    request: UUID
    said: str
    reason: str
    at: datetime


def hear(*, target: str, headers: Mapping[str, str], body: bytes, by: Actor, now: datetime) -> Callback:
    """Take a target's signed word about one of its requests; the newer word wins, an older one changes nothing.

    Raises BadCallbackError, UnknownCallbackError, CallbackReplayedError. Writes `callback_heard`, and `COMPENSATE`
    where a member moves.
    """
    row = _verified(target, headers, body)
    word = _read(body, now=now)
    webhook_id = {name.lower(): value for name, value in headers.items()}["webhook-id"][:255]
    with transaction.atomic():
        request = lock([word.request]).get(word.request)
        if request is None or request.target_id != row.pk:
            raise UnknownCallbackError(str(word.request))
        if Callback.objects.filter(target=row, webhook_id=webhook_id).exists():
            raise CallbackReplayedError(webhook_id)
        work = Moved(request, EffectState(request.effect.state))
        applied = _apply(work, word, now=now)
        callback = Callback.objects.create(
            target=row,
            webhook_id=webhook_id,
            request=request,
            said=word.said,
            reason=word.reason,
            at=word.at,
            heard_at=now,
            digest=hashlib.sha256(body).hexdigest(),
            applied=applied,
        )
        save([work])
        log.append([_entry(work, callback, by=by)], now=now)
        tell([work], by=by, now=now)
    return callback


def _verified(name: str, headers: Mapping[str, str], body: bytes) -> Target:
    """Return the target whose secret signed these bytes; who is unknown and what is forged is told in one sentence."""
    forged = BadCallbackError("its signature is not the target's, or its time is not ours")
    row = Target.objects.filter(name=name).exclude(callback_secret="").first()
    if row is None:
        raise forged
    try:
        secret = open_(row.callback_secret, about=f"callbacks of {row.name}")
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except CannotOpenError:
        raise
    except Exception:  # noqa: BLE001  (the library lets out whatever a malformed header makes it trip over)
        raise forged from None
    return row


def _read(body: bytes, *, now: datetime) -> Word:
    if len(body) > LARGEST:
        raise BadCallbackError(f"it is larger than {LARGEST} bytes")
    try:
        data: Any = json.loads(body)
        said, at = str(data["status"]), parse_datetime(str(data["at"]))
        word = Word(UUID(str(data["request"])), said, visible(data.get("reason", ""))[:500], at or now)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadCallbackError("it cannot be read") from None
    if said not in ACTIONS or at is None or at.tzinfo is None:
        raise BadCallbackError("its status or its time cannot be read")
    if at > now + TOLERANCE:
        raise BadCallbackError("its time has not come yet")
    return word


def _apply(work: Moved, word: Word, *, now: datetime) -> bool:
    """Move by the word unless a newer one is known; say whether it was taken."""
    request = work.request
    if not request.current or (request.word_at is not None and word.at <= request.word_at):
        return False
    detail = ": ".join(part for part in (WORDS[word.said], word.reason) if part)
    request.word_at, request.word_heard_at = word.at, now
    if not move(work, ACTIONS[word.said], detail=detail, now=now):
        return False
    if request.state == EffectState.COMPENSATING and (request.status_url or request.read_path):
        request.next_try_at = now + timedelta(seconds=ASK_SOON)
    return True


def _entry(work: Moved, callback: Callback, *, by: Actor) -> log.Entry:
    effect = work.request.effect
    return log.Entry(
        action="callback_heard",
        target=(effect.type, effect.object_id),
        actor=by.party,
        owner=party_of(work.group.owner),
        group=str(work.group.pk),
        data={
            "system": callback.target.name,
            "request": str(callback.request_id),
            "webhook_id": callback.webhook_id,
            "said": callback.said,
            "reason": callback.reason,
            "at": callback.at.isoformat(),
            "was": work.was.value,
            "applied": "true" if callback.applied else "false",
            "digest": callback.digest,
        },
    )
