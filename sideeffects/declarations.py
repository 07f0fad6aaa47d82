"""Are two calls, or two declarations of one call, the same? Keys, digests and differences; pure.

Sameness of JSON is that of RFC 8785: the order of members does not count, and 1 and 1.0 are one number (R3). Whole
numbers beyond 2^53 - 1, for which it has no form, are the same only where every digit is.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import rfc8785

from sideeffects.transitions import Operation

LARGEST_EXACT = 2**53 - 1  # RFC 8785 writes no larger whole number


class NotCanonicalError(Exception):
    """Arguments hold something that has no canonical form, such as NaN, half a surrogate pair or endless nesting."""

    def __init__(self, detail: str) -> None:
        self.member = "arguments"
        super().__init__(detail)


@dataclass(frozen=True)
class Declared:
    """One object a call says it wrote; times as RFC 3339 text, an absent id as the empty string."""

    type: str
    id: str
    operation: Operation
    title: str = ""
    version: str = ""
    undo_expires_at: str = ""

    def identity(self) -> list[str]:
        """Return what decides sameness: the title only where there is no id to tell two objects apart."""
        return [self.type, self.id, self.operation.value, self.version, "" if self.id else self.title]

    def as_json(self) -> dict[str, str]:
        """Return the members as they are kept and shown."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> "Declared":
        """Return the object whose `as_json` this is."""
        words = {name: text for name, text in value.items() if name != "operation"}
        return cls(**{"id": "", **words}, operation=Operation(value["operation"]))


def _digest(value: Any) -> str:
    try:
        return hashlib.sha256(_canonical(value)).hexdigest()
    except (ValueError, RecursionError) as error:  # a name of half a surrogate pair is a plain ValueError
        raise NotCanonicalError(f"The arguments have no canonical form (RFC 8785): {error}") from error


def _canonical(value: Any) -> bytes:
    try:
        return bytes(rfc8785.dumps(value))
    except rfc8785.IntegerDomainError:
        return bytes(rfc8785.dumps(_with_digits(value)))


def _with_digits(value: Any) -> Any:
    """Return the value with whole numbers that no double holds written out, under a name that no JSON here can have."""
    if isinstance(value, Mapping):
        return {name: _with_digits(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_digits(item) for item in value]
    if not isinstance(value, int) or abs(value) <= LARGEST_EXACT:
        return value
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    return near if int(near) == value else {"\0digits": str(value)}


def group_key(*, owner: str, conversation: str, tool: str, arguments: Mapping[str, Any], executed: bool = False) -> str:
    """Return the key of a call that named none: SHA-256 hex over owner, conversation, tool and arguments.

    A call executed here has keys apart from those of calls that are said to have run elsewhere, so that nobody's
    word stands in for a run.
    """
    return _digest([*(["executed"] if executed else []), owner, conversation, tool, arguments])


def explicit_key(*, owner: str, agent: str, key: str) -> str:
    """Return the key of a call that named one, scoped to owner and agent, so that another's reads as unused."""
    return _digest(["explicit", owner, agent, key])


def fingerprint(*, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what must be equal for one key: tool and arguments, never the effects."""
    return _digest([tool, arguments])


def declaration_digest(effects: Sequence[Declared]) -> str:
    """Return the digest of a declaration: the principal first, the order of the others does not count (R3)."""
    identities = [effect.identity() for effect in effects]
    return _digest([identities[:1], sorted(identities[1:])])


def _unmatched(
    first: Sequence[Declared], second: Sequence[Declared], key: Callable[[Declared], tuple[str, ...]]
) -> tuple[list[Declared], list[Declared], list[tuple[Declared, Declared]]]:
    """Pair equals by `key`, each once; return what is left of both and the pairs."""
    waiting: dict[tuple[str, ...], list[Declared]] = defaultdict(list)
    for effect in second:
        waiting[key(effect)].append(effect)
    alone, pairs = [], []
    for effect in first:
        twins = waiting[key(effect)]
        if twins:
            pairs.append((effect, twins.pop(0)))
        else:
            alone.append(effect)
    return alone, [effect for twins in waiting.values() for effect in twins], pairs


def difference(first: Sequence[Declared], second: Sequence[Declared]) -> dict[str, Any]:
    """Return how a second declaration differs from the first.

    `only_first` and `only_second` list members; `changed` lists pairs with one type and id; `principal` holds the
    second's principal where only the order says something else.
    """
    mine, theirs, _ = _unmatched(first, second, lambda effect: tuple(effect.identity()))
    with_id = [[effect for effect in side if effect.id] for side in (mine, theirs)]
    _, _, changed = _unmatched(with_id[0], with_id[1], lambda effect: (effect.type, effect.id))
    paired = {id(effect) for pair in changed for effect in pair}
    reordered = not mine and not theirs and first and first[0].identity() != second[0].identity()
    return {
        "only_first": [effect.as_json() for effect in mine if id(effect) not in paired],
        "only_second": [effect.as_json() for effect in theirs if id(effect) not in paired],
        "changed": [{"first": one.as_json(), "second": two.as_json()} for one, two in changed],
        "principal": second[0].as_json() if reordered else None,
    }


def is_difference(apart: Mapping[str, Any]) -> bool:
    """Say whether `difference` found any."""
    return any(apart.values())
