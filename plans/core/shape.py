"""What is wrong with the shape of a plan? The slow, complete way, for malformed and for merely unusual input."""

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple

import jsonschema
import msgspec
from msgspec import UNSET

from plans.core import moment, schema, sentences, strict_json
from plans.core.artifact import MAX_STEPS, SAFE_INTEGER, Plan
from plans.core.sentences import Path, Remark
from plans.core.strict_json import fault
from plans.core.words import inert, shown

MOST = 1_000  # faults listed of one plan
ANNOTATIONS = {"$comment", "planVersion", "authoredBy", "signature"}  # no rule reads them
UNKNOWN, EXPIRY = "unknown-member", "expiry-unreadable"
READABLE = (UNKNOWN, EXPIRY)  # faults of a plan that still is one value, with one digest
WHOLE = ("undoTtlSeconds", "maxDurationSeconds")

_published = schema.published()
_known = {
    owner: set(part["properties"])
    for owner, part in [("Plan", _published), *((name, part) for name, part in _published["$defs"].items())]
}
_validator = jsonschema.Draft202012Validator(schema.published(with_pattern=False))  # instants: `moment` says more


_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
}
_SENTENCES: dict[str, Callable[[Any, Any], str]] = {
    "type": lambda value, wanted: f"{shown(value)} stands where {_KINDS[wanted]} is needed.",
    "enum": lambda value, wanted: f"{shown(value)} is none of {', '.join(wanted)}.",
    "minimum": lambda value, wanted: f"{shown(value)} is less than {wanted}.",
    "maximum": lambda value, _: f"{shown(value)} is no number a plan may hold: within ±{SAFE_INTEGER}.",
    "minLength": lambda *_: "The text is empty.",
    "minItems": lambda *_: "A plan needs at least one step.",
}


class Reading(NamedTuple):
    """What the slow way made of the bytes: the plan as far as rules can judge it, and the faults of its shape."""

    plan: Plan | None
    faults: list[Remark]


def read(data: bytes) -> Reading:
    """Read a plan, collecting every fault of its shape with its path.

    Where only unknown members or annotations are at fault, the rest is still handed to the rules.
    """
    tree, unread = strict_json.parse(data)
    if unread is not None:
        return Reading(None, [unread])
    found = list(islice(_faults(tree), MOST + 1))
    if len(found) > MOST:
        found[MOST:] = [fault((), f"More than {MOST} faults; the others are not listed.")]
    if not isinstance(tree, dict) or not all(_is_beside_the_rules(item) for item in found):
        return Reading(None, found)
    return Reading(typed(tree, without={str(item.path[0]) for item in found} & ANNOTATIONS), found)


def _faults(tree: Any) -> Iterator[Remark]:
    told: set[Path] = set()
    if isinstance(tree, dict | list):
        for item in strict_json.faults(tree):
            told.add(item.path)
            yield item
    if isinstance(tree, dict) and isinstance(steps := tree.get("steps"), list) and len(steps) > MAX_STEPS:
        yield fault(("steps",), f"There are {len(steps)} steps; at most {MAX_STEPS} are read.")
        tree = {**tree, "steps": steps[:1]}
    for item in (item for error in _validator.iter_errors(tree) for item in _tell(error)):
        if item.path not in told:
            told.add(item.path)
            yield item
    if isinstance(tree, dict) and isinstance(mandate := tree.get("mandate"), dict):
        text = mandate.get("expiresAt")
        if isinstance(text, str) and text and moment.parse(text) is None:
            yield fault(("mandate", "expiresAt"), sentences.no_instant(text), EXPIRY)


def _tell(error: Any) -> Iterator[Remark]:
    path = tuple(part if isinstance(part, int) else inert(part) for part in error.absolute_path)
    kind, wanted, value = error.validator, error.validator_value, error.instance
    if kind == "additionalProperties":
        unknown = (name for name in value if name not in error.schema["properties"])
        yield from (fault((*path, inert(name)), f'"{inert(name)}" is no member here.', UNKNOWN) for name in unknown)
    elif kind == "required":
        # jsonschema reports each missing member apart, and names it in its message only.
        name = next(name for name in wanted if name not in value and error.message.startswith(repr(name)))
        yield fault((*path, name), f'"{name}" is missing.')
    else:
        yield fault(path, _SENTENCES[kind](value, wanted))


def _is_beside_the_rules(item: Remark) -> bool:
    """Tell whether the rules can judge the plan in spite of this fault: an annotation, or a member nobody knows."""
    return item.code in READABLE or (bool(item.path) and item.path[0] in ANNOTATIONS)


def typed(tree: dict[str, Any], *, without: Collection[str] = ()) -> Plan:
    """Build the typed plan from a tree whose faults, if any, lie beside the rules (`without`: annotations at fault)."""
    members = {name: value for name, value in _only_known("Plan", tree).items() if name not in without}
    members["mandate"] = _only_known("Mandate", tree["mandate"])
    arguments = []
    members["steps"] = []
    for step in tree["steps"]:
        kept = _only_known("Step", step)
        kept |= {name: int(kept[name]) for name in WHOLE if name in kept}  # 60.0 is the whole number 60
        if "compensation" in kept:
            kept["compensation"] = _only_known("Compensation", kept["compensation"])
        arguments.append(kept.get("compensation", {}).pop("args", UNSET))
        members["steps"].append(kept)
    members |= {name: int(members[name]) for name in ("pivotIndex", "planVersion") if name in members}
    plan = msgspec.convert(members, Plan)
    for step, given in zip(plan.steps, arguments, strict=True):
        if given is not UNSET and step.compensation is not UNSET:
            step.compensation.args = given  # any JSON, deeper than the typed decoder follows
    return plan


def _only_known(owner: str, members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name in _known[owner]}
