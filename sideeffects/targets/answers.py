"""What does a target's answer mean for an effect? The one table, as pure functions.

`of_send` reads the answer to a compensation, `of_read` the answer to a question about it. Both say which action of
`transitions` follows, if any, and what to do next. What an earlier try had come to (`Phase`) decides what a 404 means.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from sideeffects.transitions import EffectState


class Phase(StrEnum):
    """What is known of earlier tries of the same request."""

    FIRST = "first"  # none arrived, as far as is known
    ACCEPTED = "accepted"  # one was accepted, or a read just before had shown the object
    UNKNOWN = "unknown"  # one may have arrived


class Kind(StrEnum):
    """What a call came to."""

    NOT_LEFT = "not left"  # nothing left this machine
    ANSWERED = "answered"
    NO_ANSWER = "no answer"  # it may have arrived


class Said(StrEnum):
    """What a body says by the target's declared mapping."""

    NOTHING = ""
    DONE = "done"
    FAILED = "failed"
    PENDING = "pending"


class Next(StrEnum):
    """What happens next, by itself."""

    NOTHING = "nothing"
    SEND = "send"
    ASK = "ask"
    PERSON = "person"


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What came back: `why` says what kept a call from leaving or from an answer; `retry_after` in seconds."""

    kind: Kind
    status: int = 0
    said: Said = Said.NOTHING
    retry_after: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What follows: an action of the effect's table or none, what is next, and the sentence that is kept.

    `flag` where someone should look at it (a redirect, a refused credential); `present` where a read showed the object,
    `maybe` where this try may have arrived.
    """

    action: str = ""
    next: Next = Next.NOTHING
    detail: str = ""
    flag: str = ""
    present: bool = False
    maybe: bool = False


_MAYBE = "; an earlier try may have acted"


def of_send(heard: Heard, *, phase: Phase, can_ask: bool, tries_left: bool) -> Verdict:
    """Return what the answer to a compensation means.

    `can_ask`: whether there is a status address; `tries_left`: whether the number of tries allows another.
    """
    if heard.kind is Kind.NOT_LEFT:
        return Verdict(next=Next.SEND, detail=f"not sent: {heard.why}")
    if heard.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        detail = f"the target answered {heard.status}: not now"
        return Verdict(next=Next.SEND if tries_left else Next.PERSON, detail=detail)
    if heard.kind is Kind.NO_ANSWER or heard.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        why = heard.why or f"the target answered {heard.status}"
        return _fate_unknown(why, can_ask=can_ask, tries_left=tries_left)
    if HTTPStatus.OK <= heard.status < HTTPStatus.MULTIPLE_CHOICES:
        return _by_its_word(heard.said, can_ask=can_ask)
    if heard.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return _absent(phase, heard.status)
    return _refused(heard.status, maybe=_MAYBE if phase is Phase.UNKNOWN else "")


def of_read(heard: Heard, *, phase: Phase, state: EffectState, of_job: bool, tries_left: bool) -> Verdict:
    """Return what the answer to a question means; `of_job` where a job was asked about and not the object itself."""
    if HTTPStatus.OK <= heard.status < HTTPStatus.MULTIPLE_CHOICES:
        return _read_word(heard.said, state, of_job=of_job)
    if heard.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE} and not of_job:
        return _absent(phase, heard.status)
    why = heard.why or f"the target answered {heard.status} when asked how it stands"
    if heard.kind is Kind.NOT_LEFT:
        return Verdict(next=Next.ASK, detail=f"not asked: {heard.why}")
    if HTTPStatus.MULTIPLE_CHOICES <= heard.status < HTTPStatus.BAD_REQUEST:
        return _stuck(state, why="its status address leads elsewhere and was not followed", flag="redirect")
    if tries_left:
        return Verdict(next=Next.ASK, detail=why)
    return _stuck(state, why=why)


def _fate_unknown(why: str, *, can_ask: bool, tries_left: bool) -> Verdict:
    detail = f"{why}; it may or may not have arrived"
    if not tries_left:
        return Verdict(action="lose_contact", next=Next.PERSON, detail=detail, maybe=True)
    return Verdict(next=Next.ASK if can_ask else Next.SEND, detail=detail, maybe=True)


def _by_its_word(said: Said, *, can_ask: bool) -> Verdict:
    if said is Said.DONE:
        return Verdict(action="confirm", detail="the target says it is undone")
    if said is Said.FAILED:
        return Verdict(action="refuse", detail="the target says it failed")
    return Verdict(
        action="accept", next=Next.ASK if can_ask else Next.NOTHING, detail="the target accepted the request"
    )


def _absent(phase: Phase, status: int) -> Verdict:
    if phase is Phase.ACCEPTED:
        return Verdict(action="confirm", detail="undone: the target no longer has it")
    if phase is Phase.UNKNOWN:
        return Verdict(action="lose_contact", next=Next.PERSON, detail="no longer shown by the target, cause unknown")
    return Verdict(action="refuse", detail=f"the target does not know it ({status})")


def _refused(status: int, *, maybe: str) -> Verdict:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        detail = f"the target answered {status} and would send us elsewhere; not followed{maybe}"
        return Verdict(action="refuse", detail=detail, flag="redirect")
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        detail = f"the target refused the credential ({status}){maybe}"
        return Verdict(action="refuse", detail=detail, flag="credential")
    if status == HTTPStatus.PRECONDITION_FAILED:
        return Verdict(action="refuse", detail=f"the target refused: it holds another version by now ({status}){maybe}")
    return Verdict(action="refuse", detail=f"the target refused ({status}){maybe}")


def _read_word(said: Said, state: EffectState, *, of_job: bool) -> Verdict:
    if said is Said.DONE:
        return Verdict(action="confirm", detail="the target says it is undone")
    if said is Said.FAILED:
        return Verdict(action="refuse", detail="the target says it failed")
    if said is Said.PENDING or of_job:
        action = "" if state is EffectState.COMPENSATING else "accept"
        return Verdict(action=action, next=Next.ASK, detail="the target says it is not done yet")
    if state is EffectState.REQUESTING:
        return Verdict(next=Next.SEND, detail="the target still shows it", present=True)
    return Verdict(next=Next.ASK, detail="the target still shows it", present=True)


def _stuck(state: EffectState, *, why: str, flag: str = "") -> Verdict:
    """Say that asking leads nowhere; what was accepted stays so, since its end is the target's to tell."""
    action = "lose_contact" if state is EffectState.REQUESTING else ""
    return Verdict(action=action, next=Next.PERSON, detail=why, flag=flag)


def said_by(body: object, mapping: Mapping[str, object]) -> Said:
    """Return what a JSON body says by a mapping `{"pointer": "/status", "done": […], "failed": […], "pending": […]}`.

    Without a mapping a body says nothing.
    """
    value = pointed(body, str(mapping.get("pointer", ""))) if mapping else None
    if not isinstance(value, str | bool):
        return Said.NOTHING
    word = str(value).lower()
    for said in (Said.FAILED, Said.DONE, Said.PENDING):
        listed = mapping.get(said.value, ())
        if isinstance(listed, list | tuple) and word in {str(item).lower() for item in listed}:
            return said
    return Said.NOTHING


def pointed(body: object, pointer: str) -> object:
    """Return what a JSON pointer (RFC 6901) leads to, or None."""
    value = body
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
