"""What does the published JSON Schema of a plan say? Derived from the artifact's types, draft 2020-12."""

from typing import Any

import msgspec

from plans.core import moment
from plans.core.artifact import SAFE_INTEGER, Plan

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MEANINGS = {
    "Plan": {
        "$comment": "Annotation only; it decides nothing.",
        "sagaId": "The saga's name; keys of steps are derived from it.",
        "planVersion": "Counts up when a plan is proposed again; 1 where absent.",
        "authoredBy": "Who wrote the plan; the authenticated agent where absent.",
        "signature": "ed25519:<base64> over the canonical plan (RFC 8785) without this member.",
        "pivotIndex": "Index of the first step that cannot be rolled back, counted from 0.",
        "mandate": "The cap in money and time.",
        "steps": "What is called, one after the other.",
    },
    "Mandate": {
        "maxSpendEur": "Bound of each step's spend and of their sum.",
        "expiresAt": "RFC 3339 with an offset; from that instant on nothing may begin.",
    },
    "Step": {
        "id": "Unique within the plan.",
        "tool": "What is called.",
        "class": "compensable before the pivot; retriable or irreversible from it on.",
        "compensation": "The call that undoes this one.",
        "undoTtlSeconds": "How long the undo stays valid after the step began; never expiring where absent.",
        "maxSpendEur": "Worst-case spend; unknown where absent.",
        "maxDurationSeconds": "Worst-case duration; unbounded where absent.",
        "idempotencyKey": "sagaId:stepId, or that and the SHA-256 of the canonical step without this member.",
    },
    "Compensation": {"tool": "What is called to undo.", "args": 'Its arguments; "$s1.hold" names a result of step s1.'},
    "Author": {"agent": "The agent's name.", "model": "The model that wrote it."},
}


def inlined() -> dict[str, Any]:
    """Return the schema without references, to stand inside another document."""
    whole = published()
    parts = whole.pop("$defs")
    for name in ("$schema", "$id"):
        del whole[name]

    def resolved(part: Any) -> Any:
        if isinstance(part, dict):
            target = part.get("$ref")
            return resolved(parts[target.rpartition("/")[2]]) if target else {k: resolved(v) for k, v in part.items()}
        return [resolved(item) for item in part] if isinstance(part, list) else part

    inlined: dict[str, Any] = resolved(whole)
    return inlined


def published(*, with_pattern: bool = True) -> dict[str, Any]:
    """Return the schema. It describes the shape; what the rules hold together it cannot say."""
    derived = msgspec.json.schema(Plan)
    definitions = derived["$defs"]
    amount = {"type": "number", "minimum": 0, "maximum": SAFE_INTEGER}
    for owner in ("Step", "Mandate"):
        definitions[owner]["properties"]["maxSpendEur"] = dict(amount)
    if with_pattern:
        definitions["Mandate"]["properties"]["expiresAt"] |= {"format": "date-time", "pattern": moment.PATTERN}
    definitions["Compensation"]["properties"]["args"] = {"type": "object"}
    for owner, meanings in MEANINGS.items():
        definitions[owner].pop("description", None)
        for member, meaning in meanings.items():
            definitions[owner]["properties"][member]["description"] = meaning
    plan = definitions.pop("Plan")
    return {"$schema": DIALECT, "$id": "urn:takeback:plan", **plan, "title": "Plan", "$defs": definitions}
