"""Which words say for ever after what people decided: about a repeat that differs, or to revoke a call on arrival?

Pure, as `words`.
"""

from dataclasses import dataclass

from sideeffects.words import Tone, Words, gettext_noop

_ = gettext_noop


@dataclass(frozen=True, kw_only=True)
class Decision:
    """How a person decided about a differing declaration, with the numbers as they were then."""

    resolution: str
    by: str
    stands_in: str = ""
    declared: int = 0
    held: int = 0
    differing: int = 0
    kept: bool = True
    seen: int = 1


def decided(one: Decision) -> Words:
    """Say for ever after what was declared, what was held, and who decided what about the rest."""
    values = {"declared": str(one.declared), "held": str(one.held), "n": str(one.differing), "who": one.by}
    if not one.kept:
        text = _("{n} differing declarations were counted and not kept; dismissed by {who}")
        return Words(Tone.UNKNOWN, text, {**values, "n": str(one.seen)})
    if one.resolution == "split":
        text = _("Declared {declared}, held {held}; the repeat stands in group {group}, split by {who}")
        return Words(Tone.NONE, text, {**values, "group": one.stands_in})
    known = {
        ("adopt", True): _("Declared {declared}, held {held}; {n} adopted by {who}"),
        ("adopt", False): _("Declared {declared}, held {held}; adopted by {who}"),
        ("dismiss", True): _("Declared {declared}, held {held}; {n} dismissed by {who}"),
        ("dismiss", False): _("Declared {declared}, held {held}; dismissed by {who}"),
    }
    return Words(Tone.NONE, known[one.resolution, bool(one.differing)], values)


def split_from(group: str, who: str) -> Words:
    """Say that a group is a repeat of another, which a person let stand by itself."""
    return Words(Tone.NONE, _("A repeat of group {group}, split from it by {who}"), {"group": group, "who": who})


def fenced(state: str, who: str, detail: str, *, arrived: bool) -> list[Words]:
    """Say what a fence does or did; of one that was lifted, or for which nothing was written, nothing is odd."""
    known = {
        ("waiting", False): _("Fenced by {who}: it is revoked when it arrives"),
        ("waiting", True): _("It has arrived, and the fence that {who} set has not fired yet"),
        ("fired", True): _("Revoke asked by the fence that {who} had set"),
        ("refused", True): _("The fence that {who} had set did not fire: {detail}"),
    }
    text = known.get((state, arrived))
    tone = Tone.UNKNOWN if state == "refused" else Tone.NONE
    return [Words(tone, text, {"who": who, "detail": detail})] if text else []
