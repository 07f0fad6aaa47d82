"""Which words say what became of a batch and of its actions? Pure; numbers stand beside, colour says nothing alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from sideeffects.transitions import Outcome
from sideeffects.words import Tone, Words, gettext_noop

_ = gettext_noop


@dataclass(frozen=True)
class Bucket:
    """One outcome: how it is drawn, what it is called, and what that means."""

    tone: Tone
    label: str
    meaning: str


# In the order in which a person wants to read them: what is done, what others decide, what is odd, what waits.
BUCKETS: Mapping[Outcome, Bucket] = {
    Outcome.REVOKED: Bucket(Tone.DONE, _("Revoked"), _("Taken back here, all that was declared.")),
    Outcome.RESTORED: Bucket(Tone.STANDING, _("Restored"), _("Brought back: it stands again.")),
    Outcome.CONFIRMED: Bucket(Tone.DONE, _("The target says it is undone"), _("By the word of the system it is in.")),
    Outcome.ATTESTED: Bucket(Tone.NONE, _("Attested"), _("Held for undone on a person's word, with evidence.")),
    Outcome.REQUESTED: Bucket(Tone.REQUESTED, _("Requested"), _("The outcome is in the target system, not here.")),
    Outcome.NOT_SENT: Bucket(Tone.FLIGHT, _("Not sent yet"), _("The request to its target has not left.")),
    Outcome.UNKNOWN: Bucket(Tone.UNKNOWN, _("Unknown"), _("The request may or may not have arrived.")),
    Outcome.REFUSED: Bucket(Tone.REFUSED, _("The target refused"), _("It stands as it was, there.")),
    Outcome.ALREADY_GONE: Bucket(Tone.UNKNOWN, _("Was already gone"), _("Not by this.")),
    Outcome.NOT_REVOCABLE: Bucket(Tone.NONE, _("Not revocable"), _("All or part of it cannot be taken back.")),
    Outcome.SKIPPED: Bucket(Tone.NONE, _("Skipped"), _("Left as it was, for the reason beside it.")),
    Outcome.FAILED: Bucket(Tone.REFUSED, _("Failed"), _("Tried; nothing of it was changed.")),
    Outcome.NOT_ATTEMPTED: Bucket(Tone.FLIGHT, _("Not attempted yet"), _("Its turn has not come.")),
}


def item_words(outcome: str) -> Words:
    """Return the sentence for the outcome of one action of a batch."""
    bucket = BUCKETS[Outcome(outcome)]
    return Words(bucket.tone, bucket.label)


_STATE = {
    "working": (Tone.FLIGHT, _("Working: {done} of {all} done")),
    "stopped": (Tone.UNKNOWN, _("Stopped: {done} of {all} done, {waiting} not attempted")),
    "finished": (Tone.STANDING, _("Finished: all {all} attempted")),
}


def state_words(state: str, *, done: int, waiting: int) -> Words:
    """Return the sentence that says how far a batch has got: attempted is not undone, the buckets tell that."""
    tone, text = _STATE[state]
    return Words(tone, text, {"done": str(done), "waiting": str(waiting), "all": str(done + waiting)})


_LISTED = {
    "working": (Tone.FLIGHT, _("Working")),
    "stopped": (Tone.UNKNOWN, _("Stopped")),
    "finished": (Tone.STANDING, _("Finished")),
}


def listed_words(state: str) -> Words:
    """Return the sentence for a batch in a list, where its numbers are not counted."""
    return Words(*_LISTED[state])
