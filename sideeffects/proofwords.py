"""Which words say whether a tool's way back is there, whether it works, and how far it gets? Pure, as `words`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sideeffects.transitions import RevokeClass
from sideeffects.words import Tone, Words, gettext_noop

_ = gettext_noop


class Came(StrEnum):
    """What the last try to take back something that a tool wrote came to."""

    WORKED = "worked"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    ACCEPTED = "accepted"
    NEVER = "never used"


@dataclass(frozen=True, kw_only=True)
class EntryFacts:
    """What is known of a tool's entry point: adapters for local objects, a declared and callable way for others."""

    revoke_class: RevokeClass
    reason: str = ""
    served: Sequence[str] = ()  # types of local objects that an adapter serves
    unserved: Sequence[str] = ()
    operations: Sequence[str] = ()  # for which something is declared
    target: str = ""
    registered: bool = False
    disabled: bool = False
    refused: str = ""  # why its host may not be called


@dataclass(frozen=True)
class Entry:
    """Whether there is an entry point; None where none is promised."""

    there: bool | None
    words: Words
    by_settings: bool = False  # refused only by this process' own settings, which another's may differ from


def entry(facts: EntryFacts) -> Entry:
    """Say whether anything could be asked at all."""
    if facts.revoke_class is RevokeClass.NONE:
        return Entry(there=None, words=Words(Tone.NONE, _("None is promised: {reason}"), {"reason": facts.reason}))
    missing = _missing(facts)
    if missing:
        values = {"types": ", ".join(facts.unserved), "target": facts.target, "why": facts.refused}
        return Entry(there=False, words=Words(Tone.REFUSED, missing, values), by_settings=missing == _REFUSED)
    if facts.revoke_class is RevokeClass.LOCAL:
        text = _("An adapter serves {types}") if facts.served else _("Its first call shows what it writes here")
        return Entry(there=True, words=Words(Tone.STANDING, text, {"types": ", ".join(facts.served)}))
    values = {"operations": ", ".join(facts.operations), "target": facts.target}
    return Entry(there=True, words=Words(Tone.STANDING, _("Declared for {operations}; {target} may be asked"), values))


_REFUSED = _("No: the host of {target} may not be called ({why})")


def _missing(facts: EntryFacts) -> str:
    if facts.revoke_class is RevokeClass.LOCAL:
        return _("No: nothing here can take back {types}") if facts.unserved else ""
    if not facts.operations:
        return _("No: no way back is declared for any operation")
    if not facts.registered:
        return _("No: no admin has registered {target}")
    if facts.disabled:
        return _("No: {target} is disabled")
    return _REFUSED if facts.refused else ""


@dataclass(frozen=True, kw_only=True)
class OutcomeFacts:
    """What the last try came to: `other` is the version it was declared in, where another is in force by now."""

    revoke_class: RevokeClass
    came: Came = Came.NEVER
    date: str = ""
    at: datetime | None = None
    sandbox: bool = False
    other: str = ""


_WORKED = {
    (False, False): _("Worked on {date}"),
    (True, False): _("Worked on {date}, against a sandbox on this machine only"),
    (False, True): _("Worked on {date} as declared in version {n}; unproven as declared now"),
    (True, True): _("Worked on {date} against a sandbox, in version {n}; unproven as declared now"),
}
_ELSE = {
    Came.REFUSED: (Tone.REFUSED, _("Last failed, on {date}: the target refused")),
    Came.UNKNOWN: (Tone.UNKNOWN, _("Last failed, on {date}: no usable answer came")),
    Came.ACCEPTED: (Tone.REQUESTED, _("Accepted on {date}; what became of it is not known here")),
}


def outcome(facts: OutcomeFacts) -> Words:
    """Say what is proven; no check mark, which is for what is undone."""
    values = {"date": facts.date, "n": facts.other}
    if facts.came is Came.WORKED:
        qualified = facts.sandbox or facts.other
        tone = Tone.UNKNOWN if qualified else Tone.STANDING
        return Words(tone, _WORKED[facts.sandbox, bool(facts.other)], values, facts.at)
    if facts.came is not Came.NEVER:
        tone, text = _ELSE[facts.came]
        return Words(tone, text, values, facts.at)
    if facts.revoke_class is RevokeClass.NONE:
        return Words(Tone.NONE, _("Nothing to prove: it cannot come back"))
    return Words(Tone.UNKNOWN, _("Never used: unproven"))


def before(date: str) -> Words:
    """Say when it worked, where it did not the last time."""
    return Words(Tone.NONE, _("It worked on {date}") if date else _("It was never seen to work"), {"date": date})


class Reach(StrEnum):
    """How far a revoke gets by itself."""

    NOWHERE = "nowhere"
    HERE = "here"
    REQUESTED = "requested only"
    CONFIRMABLE = "confirmable"


def reach(revoke_class: RevokeClass, *, callback: bool, status: str) -> tuple[Reach, Words]:
    """Say how far it gets: done here, only requested, or confirmable and by what."""
    if revoke_class is RevokeClass.NONE:
        return Reach.NOWHERE, Words(Tone.NONE, _("Nowhere"))
    if revoke_class is RevokeClass.LOCAL:
        return Reach.HERE, Words(Tone.STANDING, _("Done here and now"))
    if not callback and not status:
        text = _("Requested only: nothing would tell its end, unless an answer names where to ask")
        return Reach.REQUESTED, Words(Tone.UNKNOWN, text)
    text = _("Confirmable by callback") if callback else _("Confirmable by asking at {path}")
    text = _("Confirmable by callback, and by asking at {path}") if callback and status else text
    return Reach.CONFIRMABLE, Words(Tone.STANDING, text, {"path": status})
