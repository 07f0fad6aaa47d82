"""How is JSON read that anyone may have written? Strictly, and what is wrong is named by its path."""

import json
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import JSONParser

DEEPEST = 64  # far above any honest body, far below what exhausts the stack
MOST_ERRORS = 50  # a list of errors is for reading
_LONE = re.compile("[\ud800-\udfff]")
LARGEST = 2**64 - 1  # ids of 64 bits, with or without a sign


class BadBodyError(Exception):
    """The body is not JSON, or holds what JSON or the databases cannot hold; `errors` names every bad member."""

    def __init__(self, detail: str, errors: list[dict[str, str]]) -> None:
        self.errors = errors
        super().__init__(detail)


class BodyTooLargeError(Exception):
    """The body is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The body is larger than {limit} bytes.")


class _Wrong:
    """Stands in the parsed tree where something is wrong, until the walk comes by and knows the path."""

    def __init__(self, detail: str) -> None:
        self.detail = detail


class StrictJSONParser(JSONParser):
    """Reads application/json as RFC 8259 means it, refusing what other readers would understand otherwise."""

    def parse(
        self, stream: IO[Any], _media_type: str | None = None, _parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value; raises BodyTooLargeError and BadBodyError."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLargeError(limit)
        return parse(body)


def parse(body: bytes) -> Any:
    """Return what the bytes say; raises BadBodyError naming every bad member."""
    if body.startswith(BOM_UTF8):
        raise BadBodyError("The body begins with a byte order mark: send UTF-8 without one.", [])
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=lambda name: _Wrong(f"{name} is not JSON."),
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError as error:
        raise BadBodyError(f"Not UTF-8 at byte {error.start}.", []) from None
    except json.JSONDecodeError as error:
        raise BadBodyError(f"Not JSON: {error.msg} at line {error.lineno}, column {error.colno}.", []) from None
    except RecursionError:
        raise BadBodyError(f"The body is nested too deeply: at most {DEEPEST} levels are read.", []) from None
    errors = [
        {"member": path, "detail": detail}
        for (path, detail), _ in zip(_faults(value), range(MOST_ERRORS), strict=False)
    ]
    if errors:
        raise BadBodyError("Some members cannot be read.", errors)
    return value


def _object(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    counts = Counter(name for name, _ in pairs)
    twice = [name for name, count in counts.items() if count > 1]
    return members | {name: _Wrong("This member stands there more than once.") for name in twice}


def _int(digits: str) -> Any:
    # Compared as text first: turning a million digits into a number takes minutes of nothing.
    if len(digits.lstrip("-")) > len(str(LARGEST)) or abs(int(digits)) > LARGEST:
        return _Wrong("Not a number that fits 64 bits.")
    return int(digits)


def _float(digits: str) -> Any:
    number = float(digits)
    return number if math.isfinite(number) else _Wrong("Larger than any number a computer holds.")


def _faults(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (path, what is wrong), with a stack of our own: the depth is the sender's choice."""
    todo: list[tuple[str, Any, int]] = [("", value, 0)]
    while todo:
        path, item, depth = todo.pop()
        if depth > DEEPEST:
            yield path[:200], f"Nested too deeply: at most {DEEPEST} levels are read."
        elif isinstance(item, _Wrong):
            yield path, item.detail
        elif isinstance(item, str):
            yield from ((path, fault) for fault in _text_faults(item))
        elif isinstance(item, list):
            todo.extend((f"{path}[{index}]", below, depth + 1) for index, below in enumerate(item))
        elif isinstance(item, dict):
            yield from ((path, f"A name: {fault}") for name in item for fault in _text_faults(name))
            todo.extend((_below(path, name), below, depth + 1) for name, below in item.items())


def _below(path: str, name: str) -> str:
    shown = name.encode("ascii", "backslashreplace").decode().replace("\0", "\\0")[:100]
    return f"{path}.{shown}" if path else shown


def _text_faults(text: str) -> Iterator[str]:
    if "\0" in text:
        yield "Holds a NUL character, which the database cannot store."
    if _LONE.search(text):
        yield "Holds half of a surrogate pair, which is no character."
