"""Which bytes are hashed, and how does one record bind the next? Pure; the formats are part of the promise.

- body: canonical JSON (RFC 8785) on a safe subset, see `canonical`
- leaf: SHA-256(0x00 || body), the leaf hash of RFC 6962
- chain(n) = SHA-256(chain(n-1) || leaf(n)), chain(-1) = SHA-256(0x02 || log name)
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

BODY_LIMIT = 65_535  # bytes
_LONE = re.compile("[\ud800-\udfff]")  # a surrogate in a str is always a lone one
SAFE_INTEGER = 2**53 - 1  # beyond it, readers in other languages lose digits
_TEXT, _PLAIN, _NESTED = frozenset({str}), frozenset({str, bool, type(None)}), frozenset({dict, list, tuple})
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class BadBodyError(Exception):
    """Something in a body has no one canonical form; `path` says where it stands."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path or 'body'}: {why}")


def canonical(body: Mapping[str, object]) -> bytes:
    """Return the canonical bytes; raises BadBodyError for anything outside the safe subset.

    The subset: objects with ASCII keys, lists, strings without NUL and lone surrogates, integers of at most
    53 bits, true, false, null. On it `json.dumps(sort_keys)` equals RFC 8785. Ids and amounts are strings.
    """
    if not _is_plain(body):
        _check(body, "")
    text = _ENCODE(body)
    if "\\u0000" in text:  # or a backslash and then u0000, which is well
        _check(body, "")
    try:
        return text.encode()
    except UnicodeEncodeError:
        _check(body, "")
        raise


def _is_plain(body: Mapping[str, object]) -> bool:
    """Say whether all values are of kinds that are welcome, by one loop; what their texts hold is seen when written."""
    waiting: list[Any] = [body]
    for value in waiting:  # which grows
        inner = value
        if type(value) is dict:
            if not (_TEXT.issuperset(map(type, value)) and "".join(value).isascii()):
                return False
            inner = value.values()
        if _PLAIN.issuperset(map(type, inner)):
            continue
        for one in inner:
            kind = type(one)
            if kind in _NESTED:
                waiting.append(one)
            elif not (kind in _PLAIN or (kind is int and -SAFE_INTEGER <= one <= SAFE_INTEGER)):
                return False
    return True


def _check(value: object, path: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str) or not key.isascii() or "\0" in key:
                raise BadBodyError(path, "a key must be ASCII text")
            _check(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            _check(inner, f"{path}[{place}]")
    else:
        _check_plain(value, path)


def _check_plain(value: object, path: str) -> None:
    if isinstance(value, str):
        if "\0" in value or _LONE.search(value):
            raise BadBodyError(path, "text with a NUL character or a lone surrogate")
    elif isinstance(value, int):
        if abs(value) > SAFE_INTEGER:
            raise BadBodyError(path, "an integer beyond 53 bits; write it as a string")
    elif value is not None:
        raise BadBodyError(path, f"{type(value).__name__} has no place here; write it as a string")


def leaf_hash(body: bytes) -> bytes:
    """Return SHA-256(0x00 || body)."""
    return sha256(b"\x00" + body).digest()


def from_hex(text: str) -> bytes:
    """Return a hash as it is stored, or no bytes where what is stored is none."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def start(log: str) -> bytes:
    """Return the chain value before the first record, bound to the log's name."""
    return sha256(b"\x02" + log.encode()).digest()


def link(before: bytes, leaf: bytes) -> bytes:
    """Return the chain value after one more record."""
    return sha256(before + leaf).digest()


@lru_cache(maxsize=16)  # all records of a transaction are written at one time
def time_text(at: datetime) -> str:
    """Return UTC with microseconds in the one form bodies hold, e.g. `2026-11-30T14:02:00.000000Z`."""
    if at.tzinfo is None:
        raise BadBodyError("occurred_at", "a time without a zone")
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def lookups_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return what the lookup columns of a record must hold, derived from its body alone."""
    target, actor, owner = body["target"], body["actor"], body["owner"]
    return {
        "uid": body["uid"],
        "log": body["log"],
        "action": body["action"],
        "target_type": target["type"],
        "target_id": target["id"],
        "group": body["group"],
        "actor": f"{actor['type']}:{actor['name']}",
        "owner": f"{owner['type']}:{owner['name']}" if owner else "",
        "outcome": body["outcome"],
        "occurred_at": body["occurred_at"],
    }


def subjects_of(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every object the record speaks of: target, actor, owner, then the listed ones, each once.

    A part of a record that was cut speaks of the first part too, so that each part leads to all.
    """
    heads = (body["target"], body["actor"], body["owner"])
    pairs = [(head["type"], head["id"]) for head in heads if head]
    pairs += [(type_, id_) for type_, id_ in body["subjects"]]
    if body["part"]:
        pairs.append(("record", body["part"]["first"]))
    return list(dict.fromkeys(pairs))
