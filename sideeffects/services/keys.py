"""Make and change the keys that sign delegated tokens, so that no target ever sees one it could not know."""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from audit import log
from sideeffects import identity, policies
from sideeffects.actors import Actor
from sideeffects.models import SigningKey
from sideeffects.vault import close

KNOWN_AFTER = timedelta(minutes=10)  # how long targets may keep the published keys before they look again
State = SigningKey.State


class KeyTooNewError(Exception):
    """The next key was published too short a time ago for every target to know it."""

    def __init__(self, known_at: datetime) -> None:
        self.known_at = known_at
        super().__init__(f"The next key is known to every target from {known_at:%H:%M:%S} UTC on; rotate then.")


def active(*, by: Actor, now: datetime) -> SigningKey:
    """Return the key that signs, made on first use together with the next one. Writes `key_made`."""
    known = SigningKey.objects.filter(state=State.ACTIVE).first()
    if known is not None:
        return known
    try:
        with transaction.atomic():
            first = _make(State.ACTIVE, by=by, now=now)
            _make(State.NEXT, by=by, now=now)
            return first
    except IntegrityError:  # another process made them
        return SigningKey.objects.get(state=State.ACTIVE)


def rotate(*, by: Actor, now: datetime, at_once: bool = False) -> SigningKey:
    """Let the next key sign from now on and publish a new next one; the old one stays published until it is retired.

    `at_once` where a key may be known to others: then no time is given and the old one is withdrawn immediately.
    Raises KeyTooNewError, ForAdminsOnlyError. Writes `keys_rotated`.
    """
    policies.check_may_manage(by, "rotate the signing keys")
    active(by=by, now=now)
    with transaction.atomic():
        keys = {key.state: key for key in SigningKey.objects.select_for_update().filter(state__in=["next", "active"])}
        old, new = keys[State.ACTIVE], keys[State.NEXT]
        if not at_once and new.made_at + KNOWN_AFTER > now:
            raise KeyTooNewError(new.made_at + KNOWN_AFTER)
        _retire(now=now)
        old.state = State.RETIRED if at_once else State.RETIRING
        old.retiring_at, old.retired_at = now, now if at_once else None
        old.save(update_fields=["state", "retiring_at", "retired_at"])
        new.state, new.active_at = State.ACTIVE, now
        new.save(update_fields=["state", "active_at"])
        coming = _make(State.NEXT, by=by, now=now)
        data = {"active": new.kid, "retiring": old.kid, "next": coming.kid, "at_once": at_once}
        log.append([log.Entry("keys_rotated", ("key", new.kid), by.party, None, data)], now=now)
    return new


def _retire(*, now: datetime) -> None:
    """Withdraw what no token can carry any more."""
    over = now - identity.LIFETIME - KNOWN_AFTER
    SigningKey.objects.filter(state=State.RETIRING, retiring_at__lte=over).update(state=State.RETIRED, retired_at=now)


def _make(state: str, *, by: Actor, now: datetime) -> SigningKey:
    kid, public, private = identity.made()
    key = SigningKey.objects.create(
        kid=kid,
        state=state,
        public=public,
        private=close(private, about=f"signing key {kid}"),
        made_at=now,
        active_at=now if state == State.ACTIVE else None,
    )
    log.append([log.Entry("key_made", ("key", kid), by.party, None, {"kid": kid, "state": state})], now=now)
    return key


def published() -> list[dict[str, object]]:
    """Return the public keys that a target should know: what signs, what signed until now, what will sign."""
    return [dict(key.public) for key in SigningKey.objects.exclude(state=State.RETIRED).order_by("made_at", "kid")]
