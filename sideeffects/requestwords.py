"""Which words do pages use for where one request to a target stands? Pure; as `words`, only what is known."""

from dataclasses import dataclass
from datetime import datetime

from sideeffects.transitions import EffectState
from sideeffects.words import Tone, Words, gettext_noop

_ = gettext_noop


@dataclass(frozen=True, kw_only=True)
class RequestFacts:
    """What is known of one request; `carried` while a try is under way, or its process ended before an answer."""

    state: EffectState
    target: str
    asked_at: datetime
    state_at: datetime
    tries: int = 0
    sent: bool = False
    carried: bool = False
    suspended: bool = False
    disabled: bool = False
    unreachable: bool = False
    detail: str = ""
    attested_by: str = ""


# What came last, where it says more than the state's own sentence (the sentences of `targets.answers`).
_BY_DETAIL = {
    "undone: the target no longer has it": _("Undone: the target no longer has it"),
    "no longer shown by the target, cause unknown": _("Unknown: no longer shown by the target, cause unknown"),
    "the target says it failed": _("The target says it failed"),
}
_UNKNOWN_THERE = "the target does not know it"
_SETTLED = {
    EffectState.COMPENSATED: (Tone.DONE, _("The target says it is undone")),
    EffectState.REFUSED: (Tone.REFUSED, _("The target refused")),
    EffectState.UNKNOWN: (Tone.UNKNOWN, _("Unknown: the request may or may not have arrived")),
}


def of_request(facts: RequestFacts) -> Words:
    """Return the sentence for one request."""
    if facts.state is EffectState.ATTESTED:
        return Words(Tone.NONE, _("Attested by {name}, with evidence"), {"name": facts.attested_by}, facts.state_at)
    if facts.state in _SETTLED:
        tone, text = _SETTLED[facts.state]
        if facts.detail.startswith(_UNKNOWN_THERE):
            text = _("Refused: the target does not know it")
        return Words(tone, _BY_DETAIL.get(facts.detail, text), since=facts.state_at)
    if facts.suspended:
        text = _("Suspended: {target} was changed since, and an admin has to look")
        return Words(Tone.UNKNOWN, text, {"target": facts.target}, facts.asked_at)
    if facts.state is EffectState.COMPENSATING:
        text = _("Compensation requested. The outcome is in the target system")
        return Words(Tone.REQUESTED, text, since=facts.asked_at)
    return _not_answered(facts)


def _not_answered(facts: RequestFacts) -> Words:
    values = {"n": str(facts.tries), "target": facts.target}
    if facts.sent:
        once = facts.tries == 1
        text = _("Asked once, no usable answer yet") if once else _("Asked {n} times, no usable answer yet")
        return Words(Tone.UNKNOWN, text, values, facts.asked_at)
    if facts.disabled:
        text = _("Not sent yet: {target} is disabled")
    elif facts.unreachable:
        text = _("Not sent yet: {target} is unreachable")
    elif facts.carried:
        text = _("Being sent: no answer yet")
    else:
        text = _("Not sent yet")
    return Words(Tone.FLIGHT, text, values, facts.asked_at)
