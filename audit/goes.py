"""How does a page verify a log that takes longer than it may? In goes; each is handed what the next needs, signed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.core import signing

from audit.verify import Reached, Verdict

_SALT = "audit.goes"
OLDEST = timedelta(hours=12)  # what was checked longer ago is checked again


@dataclass(frozen=True)
class Going:
    """A verify that goes on: how far it came, and when its first go began; `reached` is None in the first."""

    began_at: datetime
    reached: Reached | None = None


def going(sent: Mapping[str, str], *, now: datetime) -> Going:
    """Return where to go on; from the start where nothing says so, or what is held is not what it was."""
    try:
        said = signing.loads(sent.get("reached", ""), salt=_SALT, max_age=OLDEST)
    except signing.BadSignature:
        return Going(now)
    if said["held"] != _held(sent):
        return Going(now)
    return Going(datetime.fromisoformat(said["began_at"]), Reached(said["checked"], said["head"], tuple(said["peaks"])))


def onward(verdict: Verdict, sent: Mapping[str, str], *, began_at: datetime) -> str:
    """Return what the next go is to send, nothing where there is none."""
    if verdict.reached is None or not verdict.reached.checked:
        return ""
    reached = {"checked": verdict.reached.checked, "head": verdict.reached.head, "peaks": verdict.reached.peaks}
    said = {**reached, "held": _held(sent), "began_at": began_at.isoformat()}
    return signing.dumps(said, salt=_SALT, compress=True)


def _held(sent: Mapping[str, str]) -> str:
    """Return what stands for the checkpoint and key beside it: their heads were looked at on the way."""
    return sha256(f"{sent.get('checkpoint', '')}\0{sent.get('key', '')}".encode()).hexdigest()
