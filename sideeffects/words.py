"""Which words do pages, API and mail use for where things stand? Pure; every sentence says only what is known.

Texts are marked for translation here and translated where they are shown: `str(words)` is the English sentence,
`words.render(gettext)` the translated one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import inflection

from sideeffects.transitions import EffectState, Operation, RevokeClass, Standing


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it as it is."""
    return text


_ = gettext_noop


class Tone(StrEnum):
    """How a sentence is drawn; icon and colour only repeat what the words say."""

    DONE = "done"
    REQUESTED = "requested"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    FLIGHT = "flight"
    NONE = "none"
    STANDING = "standing"


@dataclass(frozen=True)
class Words:
    """One sentence: its tone, its text with places for values, and the time it speaks of, where there is one."""

    tone: Tone
    text: str
    values: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None

    def render(self, translate: Callable[[str], str]) -> str:
        """Return the sentence in the language of `translate`."""
        return translate(self.text).format(**self.values)

    def __str__(self) -> str:
        """Return the English sentence."""
        return self.render(gettext_noop)


@dataclass(frozen=True, kw_only=True)
class EffectFacts:
    """What is known of one effect when its sentence is written."""

    state: EffectState
    revoke_class: RevokeClass
    operation: Operation
    reason: str = ""
    target: str = ""
    trash_until: str = ""
    restored: bool = False
    at: datetime | None = None


_REVOKED = {
    Operation.CREATE: _("Revoked. In trash until {date}; notices already sent are not recalled"),
    Operation.UPDATE: _("Revoked: put back to the version before"),
    Operation.DELETE: _("Revoked: undeleted"),
}
_RESTORED = {
    Operation.CREATE: _("Standing again: restored"),
    Operation.UPDATE: _("Changed again: restored"),
    Operation.DELETE: _("Deleted again: restored"),
}
_EFFECT: dict[EffectState, tuple[Tone, str]] = {
    EffectState.ACTIVE: (Tone.STANDING, _("Standing")),
    EffectState.PURGED: (Tone.NONE, _("Revoked, and purged from the trash")),
    EffectState.GONE: (Tone.UNKNOWN, _("Was already gone, not by this")),
    EffectState.REQUESTING: (Tone.FLIGHT, _("Not sent yet")),
    EffectState.COMPENSATING: (
        Tone.REQUESTED,
        _("Compensation requested. The outcome is in the target system"),
    ),
    EffectState.COMPENSATED: (Tone.DONE, _("The target says it is undone")),
    EffectState.REFUSED: (Tone.REFUSED, _("The target refused")),
    EffectState.UNKNOWN: (Tone.UNKNOWN, _("Unknown: the request may or may not have arrived")),
    EffectState.ATTESTED: (Tone.NONE, _("Attested by a person, with evidence")),
}


def of_effect(facts: EffectFacts) -> Words:
    """Return the sentence for one effect."""
    if facts.state is EffectState.REVOKED:
        return Words(Tone.DONE, _REVOKED[facts.operation], {"date": facts.trash_until}, facts.at)
    if facts.state is EffectState.ACTIVE and facts.revoke_class is RevokeClass.NONE:
        return Words(Tone.NONE, _("Not revocable: {reason}"), {"reason": facts.reason})
    if facts.state is EffectState.ACTIVE and facts.restored:
        return Words(Tone.STANDING, _RESTORED[facts.operation], since=facts.at)
    if facts.state is EffectState.GONE and facts.operation is Operation.DELETE:
        return Words(Tone.UNKNOWN, _("Stood again already, not by this"), since=facts.at)
    tone, text = _EFFECT[facts.state]
    return Words(tone, text, since=facts.at if facts.state is not EffectState.ACTIVE else None)


VANISHED = Words(Tone.UNKNOWN, _("Revoked; not there any more since, so it cannot be restored"))


@dataclass(frozen=True, kw_only=True)
class GroupFacts:
    """What is known of one group when its sentence is written; `counts` by effect state, `none` of class none."""

    standing: Standing
    counts: Mapping[EffectState, int]
    none: int = 0
    reason: str = ""
    more_declared: int = 0
    conflict_open: bool = False
    restored: int = 0
    trash_until: str = ""
    revoked: frozenset[Operation] = frozenset()  # what was done to the members that are revoked here
    at: datetime | None = None
    unanswered: int = 0  # of those requesting: sent, and no usable answer came
    targets: str = ""  # the systems that are asked, by name
    lease_over: bool = False  # in flight here, and its run has not ended within its time


_GROUP: dict[Standing, tuple[Tone, str]] = {
    Standing.IN_FLIGHT: (Tone.FLIGHT, _("In flight: cannot be revoked yet")),
    Standing.FAILED: (Tone.NONE, _("The agent says nothing was written")),
    Standing.LOST: (Tone.UNKNOWN, _("The agent lost track of this call: it may still land")),
    Standing.UNDONE: (Tone.DONE, _("The target says it is undone")),
    Standing.ATTESTED: (Tone.NONE, _("Attested by a person, with evidence")),
}


_LEASE_OVER = _("In flight: its run here is overdue, nothing is written so far, and the same call may run again")


def of_group(facts: GroupFacts) -> Words:
    """Return the sentence for a whole group; *incomplete* never stands without its reason."""
    members = sum(facts.counts.values())
    if facts.standing is Standing.STANDING:
        return _standing(facts, members)
    if facts.standing is Standing.REVOKED:
        return _revoked(facts)
    if facts.standing is Standing.PARTLY_RESTORED:
        values = {"back": str(facts.restored), "all": str(members)}
        return Words(Tone.UNKNOWN, _("Partly restored: {back} of {all} are back"), values, facts.at)
    if facts.standing is Standing.INCOMPLETE:
        return Words(Tone.UNKNOWN, _("Incomplete: {why}"), {"why": "; ".join(incomplete_because(facts))}, facts.at)
    if facts.standing is Standing.REQUESTED:
        return _requested(facts, members)
    overdue = facts.standing is Standing.IN_FLIGHT and facts.lease_over
    tone, text = (Tone.UNKNOWN, _LEASE_OVER) if overdue else _GROUP[facts.standing]
    return Words(tone, text, since=facts.at)


def _revoked(facts: GroupFacts) -> Words:
    if not facts.counts.get(EffectState.REVOKED):
        return Words(Tone.NONE, _("Revoked, and purged from the trash"), since=facts.at)
    if Operation.CREATE in facts.revoked or not facts.revoked:
        return Words(Tone.DONE, _("Revoked. In trash until {date}"), {"date": facts.trash_until}, facts.at)
    if len(facts.revoked) > 1:
        return Words(Tone.DONE, _("Revoked: put back to the version before, and undeleted"), since=facts.at)
    return Words(Tone.DONE, _REVOKED[next(iter(facts.revoked))], since=facts.at)


def _requested(facts: GroupFacts, members: int) -> Words:
    """Say how far requests have got: nothing that has not left is called requested."""
    counts = facts.counts
    requesting, accepted = counts.get(EffectState.REQUESTING, 0), counts.get(EffectState.COMPENSATING, 0)
    tone = Tone.UNKNOWN if facts.unanswered else Tone.FLIGHT if requesting else Tone.REQUESTED
    if accepted == members:
        return Words(tone, _("Compensation requested. The outcome is in the target system"), since=facts.at)
    if requesting == members and not facts.unanswered:
        return Words(tone, _("Not sent yet"), since=facts.at)
    parts = [
        (counts.get(EffectState.REVOKED, 0) + counts.get(EffectState.PURGED, 0), "{n} revoked"),
        (counts.get(EffectState.COMPENSATED, 0), "{n} undone by the target's word"),
        (counts.get(EffectState.ATTESTED, 0), "{n} attested by a person"),
        *_under_way(facts),
    ]
    targets = facts.targets or "the target"
    said = ", ".join(text.format(n=number, target=targets) for number, text in parts if number)
    text = _("Under way: {parts}") if requesting else _("Requested: {parts}")
    return Words(tone, text, {"parts": said}, facts.at)


def _under_way(facts: GroupFacts) -> list[tuple[int, str]]:
    return [
        (facts.counts.get(EffectState.REQUESTING, 0) - facts.unanswered, "{n} not sent yet"),
        (facts.unanswered, "{n} asked without a usable answer yet"),
        (facts.counts.get(EffectState.COMPENSATING, 0), "{n} waiting for {target}"),
    ]


def _standing(facts: GroupFacts, members: int) -> Words:
    if facts.none == members:
        if not members:
            return Words(Tone.NONE, _("Nothing was declared, so there is nothing to revoke"))
        return Words(Tone.NONE, _("Not revocable: {reason}"), {"reason": facts.reason})
    if facts.restored:
        return Words(Tone.STANDING, _("Standing again: restored"), since=facts.at)
    return Words(Tone.STANDING, _("Standing"))


def incomplete_because(facts: GroupFacts) -> list[str]:
    """Return every reason why a group that was asked back is not complete."""
    counts = facts.counts
    reasons = [
        (counts.get(EffectState.GONE, 0), "{n} already gone, not by this"),
        (counts.get(EffectState.PURGED, 0), "{n} revoked, then purged from the trash"),
        (facts.none, "{n} not revocable"),
        (counts.get(EffectState.ACTIVE, 0) - facts.none, "{n} still standing"),
        (counts.get(EffectState.REFUSED, 0), "{n} refused by the target"),
        (counts.get(EffectState.UNKNOWN, 0), "{n} unknown"),
        *_under_way(facts),
    ]
    targets = facts.targets or "the target"
    said = [text.format(n=number, target=targets) for number, text in reasons if number > 0]
    if facts.conflict_open:
        said += ["undone as declared"] if facts.more_declared and undone_as_declared(facts) else []
        said.append(conflict_words(facts.more_declared))
    return said


def undone_as_declared(facts: GroupFacts) -> bool:
    """Say whether every member that is held is undone, so that only what differs is not."""
    undone = (EffectState.REVOKED, EffectState.PURGED, EffectState.COMPENSATED)
    members = sum(facts.counts.values())
    return bool(members) and not facts.none and sum(facts.counts.get(state, 0) for state in undone) == members


def conflict_words(more: int) -> str:
    """Say what an open conflict adds to where a group stands."""
    return f"a retry declared {more} more" if more else "a retry declared something else"


@dataclass(frozen=True, kw_only=True)
class TrashFacts:
    """What is known of when something leaves the trash; `until` as fixed at the revoke."""

    until: str
    announced: bool = False
    conflict_open: bool = False
    held_why: str = ""


def fate(facts: TrashFacts) -> Words:
    """Say what becomes of what lies in the trash, if nobody restores it."""
    if not facts.until:
        return Words(Tone.NONE, _("Nothing of it lies in the trash, so nothing is purged"))
    values = {"date": facts.until, "why": facts.held_why}
    if facts.conflict_open:
        text = _("Kept beyond {date} for as long as the difference is undecided")
        return Words(Tone.UNKNOWN, text, values)
    if facts.held_why:
        return Words(Tone.UNKNOWN, _("Could not be purged, so it stays: {why}"), values)
    if facts.announced:
        return Words(Tone.UNKNOWN, _("Goes for good on {date}"), values)
    return Words(Tone.NONE, _("Goes for good on {date}; that is announced before"), values)


@dataclass(frozen=True, kw_only=True)
class CallFacts:
    """What is known of how a call was declared."""

    again_after_revoke: bool = False
    repeats: int = 0
    not_kept: int = 0


def notes(facts: CallFacts) -> list[Words]:
    """Return what a group says beside where it stands."""
    said = []
    if facts.again_after_revoke:
        said.append(Words(Tone.UNKNOWN, _("Done again after it was revoked")))
    if facts.repeats:
        text = _("Declared {n} times; whether it happened again is unknown")
        said.append(Words(Tone.UNKNOWN, text, {"n": str(facts.repeats + 1)}))
    if facts.not_kept:
        text = _("{n} more differing declarations were counted and not kept")
        said.append(Words(Tone.UNKNOWN, text, {"n": str(facts.not_kept)}))
    return said


_VERBS = {
    Operation.CREATE: _("Created {what}"),
    Operation.UPDATE: _("Changed {what}"),
    Operation.DELETE: _("Deleted {what}"),
}


@dataclass(frozen=True)
class Written:
    """How many objects of one type a call wrote, and how; the principal's id where it has one."""

    operation: Operation
    type: str
    count: int


def called(tool: str) -> Words:
    """Say only that a call was made: of what it wrote nothing is declared."""
    return Words(Tone.NONE, _("Called {tool}"), {"tool": tool})


def summary(written: Sequence[Written], *, principal_id: str = "") -> Words:
    """Say what a call did, principal's type first: `Created project 7 and 10 tasks`. No word of it is the agent's."""
    if not written:
        return Words(Tone.NONE, _("Declared nothing"))
    first, *others = written
    named = f"{first.type} {principal_id}".strip()
    rest = [Written(first.operation, first.type, first.count - 1), *others]
    parts = [named, *(f"{one.count} {_plural(one)}" for one in rest if one.count)]
    what = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return Words(Tone.NONE, _VERBS[first.operation], {"what": what})


def _plural(one: Written) -> str:
    return one.type if one.count == 1 else inflection.pluralize(one.type)


HOW_FAR = {
    RevokeClass.NONE: _("Cannot come back"),
    RevokeClass.LOCAL: _("Taken back here, restorable"),
    RevokeClass.EXTERNAL: _("Asked of the target, which decides"),
}

HOW_HERE = {
    Operation.CREATE: _("Deleted here, restorable"),
    Operation.UPDATE: _("Put back here, restorable"),
    Operation.DELETE: _("Undeleted here, restorable"),
}
