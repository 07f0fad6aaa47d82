"""Carry one claimed request to its target and say what came back. No database here: it runs in threads of a pool."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from django.conf import settings

from audit.inert import visible
from sideeffects.identity import claims_for
from sideeffects.models import Attempt, Request
from sideeffects.services.ask import body_bytes
from sideeffects.services.claim import Claimed
from sideeffects.targets import http
from sideeffects.targets.answers import Heard, Kind, said_by

EXCERPT = 500  # characters of an answer that are kept
_SECRETS = re.compile(
    r"eyJ[\w-]+\.[\w-]+\.[\w-]*|(?i:bearer)\s+\S+|whsec_\S+"
    r'|(?<=")(?i:password|secret|token|api_?key|authorization)"\s*:\s*"[^"]*"?'
)


@dataclass(frozen=True, kw_only=True)
class Called:
    """What one try came to: `heard` for the table of answers, and what is kept as evidence.

    `down`: what keeps the target from being reached, empty where it was; `elsewhere`: its Location is on another host.
    """

    claimed: Claimed
    heard: Heard
    ended_at: datetime
    answered_at: datetime
    down: str = ""
    status_url: str = ""
    elsewhere: bool = False
    digest: str = ""
    excerpt: str = ""


def call(claimed: Claimed, *, now: datetime) -> http.Came:
    """Sign a token for this one try and make the call; raises nothing that a target could cause."""
    url = url_of(claimed)
    if claimed.signer is None:
        return http.Came(kind=Kind.NOT_LEFT, why="no token can be signed; see TAKEBACK_KEY_SECRET")
    sends = claimed.purpose is Attempt.Purpose.SEND
    method = claimed.request.method if sends else "GET"
    token = claimed.signer.token(
        claims_for(claimed.request, jti=str(claimed.jti), method=method, url=url, issuer=settings.PUBLIC_URL, now=now)
    )
    return http.call(
        http.Call(
            method=method,
            url=url,
            headers={"Authorization": f"Bearer {token}", **(_send_headers(claimed.request) if sends else {})},
            content=body_bytes(claimed.request.body) if sends else b"",
            seconds=settings.TARGET_SECONDS,
            allowed=settings.TARGET_HOSTS,
        )
    )


def url_of(claimed: Claimed) -> str:
    """Return the address of a try: the declared one below the target's own, or the status address on the same host."""
    row = claimed.request
    base = row.target.base_url.rstrip("/")
    if claimed.purpose is Attempt.Purpose.SEND:
        return base + row.path
    return row.status_url if is_same_host(row.status_url, base) else base + row.read_path


def asks_about_job(row: Request) -> bool:
    """Say whether a question goes to the job's own address and not to the object's."""
    return is_same_host(row.status_url, row.target.base_url)


def is_same_host(url: str, base: str) -> bool:
    """Say whether an address is on the target's own scheme, host and port, so that a token may go there."""
    try:
        one, other = urlsplit(url), urlsplit(base)
        return bool(url) and (one.scheme, one.hostname, one.port) == (other.scheme, other.hostname, other.port)
    except ValueError:
        return False


def _send_headers(row: Request) -> dict[str, str]:
    headers = {"Idempotency-Key": str(row.pk)}
    if row.if_match:
        headers["If-Match"] = f'"{row.if_match}"'
    if row.body is not None:
        headers["Content-Type"] = "application/json"
    return headers


def understood(claimed: Claimed, came: http.Came, *, now: datetime) -> Called:
    """Return what a call came to, in the words of the table of answers; `now` is when it ended."""
    target = claimed.request.target
    base, location = target.base_url, came.headers.get("location", "")
    status_url = urljoin(url_of(claimed), location) if came.status < 300 and location else ""  # noqa: PLR2004  (HTTP)
    followed = status_url if is_same_host(status_url, base) and len(status_url) <= 1000 else ""  # noqa: PLR2004  (its column)
    return Called(
        claimed=claimed,
        heard=Heard(
            kind=came.kind,
            status=came.status,
            said=said_by(came.json(), target.mapping),
            retry_after=retry_after(came.headers.get("retry-after", ""), now=now),
            why=came.why,
        ),
        ended_at=now,
        answered_at=_their_time(came.headers.get("date", ""), now=now),
        down=came.why if came.kind is Kind.NOT_LEFT and claimed.signer is not None else "",
        status_url=followed,
        elsewhere=bool(status_url) and not followed,
        digest=hashlib.sha256(came.content).hexdigest() if came.kind is Kind.ANSWERED else "",
        excerpt=scrubbed(came.content),
    )


def retry_after(text: str, *, now: datetime) -> float | None:
    """Return how many seconds a target asks us to wait; nonsense is nothing, ten years are cut (X10)."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:12])
    else:
        at = _date(text)
        if at is None:
            return None
        seconds = max((at - now).total_seconds(), 0.0)
    return min(seconds, float(settings.RETRY_MOST_SECONDS))


def _their_time(text: str, *, now: datetime) -> datetime:
    """Return when the target says it answered, where that can be; never a time that has not come."""
    at = _date(text)
    return min(at, now) if at is not None and abs((now - at).total_seconds()) <= settings.TARGET_SECONDS else now


def _date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def scrubbed(content: bytes) -> str:
    """Return the beginning of an answer without what looks like a secret, made inert."""
    text = _SECRETS.sub("[removed]", content[: 4 * EXCERPT].decode("utf-8", "replace"))
    return visible(text[:EXCERPT])
