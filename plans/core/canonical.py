"""Which bytes stand for a plan or a step, and which digest and key follow from them?"""

import hashlib
import json
from typing import Any

import rfc8785

SIGNATURE = "signature"
KEY = "idempotencyKey"


def encode(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value (RFC 8785).

    `json.dumps` is the faster of the two and agrees wherever numbers are integers and names are ASCII.
    """
    if not _is_plain(value):
        return rfc8785.dumps(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(name.isascii() and _is_plain(member) for name, member in value.items())
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return not isinstance(value, float)


def plan_bytes(plan: dict[str, Any]) -> bytes:
    """Return what a plan's digest and signature cover: the canonical plan without its signature."""
    return encode({name: value for name, value in plan.items() if name != SIGNATURE})


def digest(plan: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical plan without its signature, in hex."""
    return hashlib.sha256(plan_bytes(plan)).hexdigest()


def step_hash(step: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical step without its own key, in hex; omitted members stay omitted."""
    return hashlib.sha256(encode({name: value for name, value in step.items() if name != KEY})).hexdigest()


def key(saga: str, step: dict[str, Any], *, whole: bool = False) -> str:
    """Return a step's key, `sagaId:stepId`; with `whole` also the hash of the step's bytes."""
    short = f"{saga}:{step['id']}"
    return f"{short}:{step_hash(step)}" if whole else short
