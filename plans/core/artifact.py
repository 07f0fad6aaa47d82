"""What is a plan? Its members, their types and limits, and the fast way from bytes to a typed plan."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

MAX_BYTES = 4 * 1024 * 1024
MAX_STEPS = 10_000
MAX_DEPTH = 64
SAFE_INTEGER = 2**53 - 1  # beyond it two integers can share one double (RFC 8785 3.2.2.3, RFC 7493 2.2)
BACKSLASH = ord("\\")

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0, le=SAFE_INTEGER)]
Positive = Annotated[int, Meta(ge=1, le=SAFE_INTEGER)]
Money = Annotated[int, Meta(ge=0, le=SAFE_INTEGER)] | Annotated[float, Meta(ge=0, le=SAFE_INTEGER)]
StepClass = Literal["compensable", "retriable", "irreversible"]

Integer = Annotated[int, Meta(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]
Number = Annotated[float, Meta(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]
Scalar = Integer | Number | str | bool | None


def _nested(depth: int) -> Any:
    """Return the type of JSON up to `depth` levels; the decoder knows no recursive alias, deeper goes the slow way."""
    kind: Any = Scalar
    for _ in range(depth):
        kind = Scalar | list[kind] | dict[str, kind]
    return kind


Arguments: Any = dict[str, _nested(5)]  # type: ignore[misc]  # a type made at run time


class Compensation(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The call that undoes a step."""

    tool: Text
    args: Arguments | UnsetType = UNSET


# A plan is a tree, so its objects can be freed without the cycle collector; not being tracked makes decoding faster.


class Step(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """One call of a plan; what is absent stays absent (`UNSET`), for keys are hashed over what was written."""

    id: Text
    tool: Text
    kind: StepClass = field(name="class")
    compensation: Compensation | UnsetType = UNSET
    undo_ttl_seconds: Positive | UnsetType = UNSET
    max_spend_eur: Money | UnsetType = UNSET
    max_duration_seconds: Count | UnsetType = UNSET
    idempotency_key: Text | UnsetType = UNSET


class Author(Struct, forbid_unknown_fields=True, gc=False):
    """Who wrote the plan."""

    agent: Text
    model: Text


class Mandate(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The cap in money and time."""

    max_spend_eur: Money
    expires_at: Text


class Plan(Struct, forbid_unknown_fields=True, rename="camel", gc=False, kw_only=True):
    """The typed saga an agent proposes. Members stand in the order they are published in: that decodes fastest."""

    comment: str | UnsetType = field(default=UNSET, name="$comment")
    saga_id: Text
    plan_version: Positive | UnsetType = UNSET
    authored_by: Author | UnsetType = UNSET
    signature: Text | UnsetType = UNSET
    pivot_index: Count
    mandate: Mandate
    steps: Annotated[list[Step], Meta(min_length=1, max_length=MAX_STEPS)]


_decode = msgspec.json.Decoder(Plan).decode
_write_into = msgspec.json.Encoder().encode_into


def decode(data: bytes) -> Plan | None:
    """Return the plan, or None where only the slow way can tell what is wrong (or that nothing is).

    Whether a member stood there twice is for `kept_every_member` to tell.
    """
    if len(data) > MAX_BYTES:
        return None
    try:
        return _decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


def kept_every_member(data: bytes, plan: Plan, *, whole_numbers: bool = False) -> bool:
    """Tell whether decoding kept every member: the decoder keeps the last of two that share a name.

    Written out again, such a plan has lost a member and with it a comma. Without escapes every other comma comes back
    as it was, so the number of commas finds each duplicate; with an escape the slow way decides. Written out, nothing
    but a number with an exponent grows: where all numbers are whole, equal lengths settle it sooner.
    """
    written = bytearray(len(data))  # room enough as a rule, so that writing need not look for more
    _write_into(plan, written)
    if whole_numbers and len(data) == len(written):
        return True
    return BACKSLASH not in data and data.count(b",") == written.count(b",")
