"""What is wrong with these bytes as JSON? Every fault with its path; the rest of the value comes through."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any

from plans.core.artifact import MAX_BYTES, MAX_DEPTH, SAFE_INTEGER
from plans.core.sentences import Path, Remark
from plans.core.words import inert

TEXT_ENOUGH = 40  # a number with more digits is not read at all: reading takes time that grows with its square
BROKEN = "Half of a character (a lone surrogate) stands"


class _BadNumber(str):
    """A number token that no plan may hold, kept as it was written."""

    __slots__ = ()


class _Twice(dict[str, Any]):
    """An object in which names stood more than once."""

    names: list[str]


def fault(path: Path, message: str, code: str = "shape") -> Remark:
    """Return a remark of the schema rule about a malformed member."""
    return Remark("schema", path, message, code)


def parse(data: bytes) -> tuple[Any, Remark | None]:
    """Return the value in these bytes, marks left where numbers or names are bad; or why they are no JSON at all."""
    if len(data) > MAX_BYTES:
        return None, fault((), f"The plan has {len(data)} bytes or more; at most {MAX_BYTES} are read.")
    if data.startswith(BOM_UTF8):
        return None, fault((), "The plan begins with a byte order mark: right is UTF-8 without one.")
    try:
        return _decoder.decode(data.decode()), None
    except UnicodeDecodeError as error:
        return None, fault((), f"The plan is no UTF-8: byte {error.start} belongs to no character.")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return None, fault((), f"The plan is no JSON: {error.msg}, {where}.")
    except RecursionError:
        return None, fault((), f"The plan is nested too deeply: at most {MAX_DEPTH} levels are read.")


def _integer(token: str) -> Any:
    if len(token) > TEXT_ENOUGH or abs(number := int(token)) > SAFE_INTEGER:
        return _BadNumber(token)
    return number


def _float(token: str) -> Any:
    number = float(token)
    return number if abs(number) <= SAFE_INTEGER else _BadNumber(token)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    marked = _Twice(members)
    names = [name for name, _ in pairs]
    seen: set[str] = set()
    marked.names = list(dict.fromkeys(name for name in names if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return marked


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_BadNumber, strict=True
)


def faults(value: Any, path: Path = ()) -> Iterator[Remark]:
    """Find every bad number, repeated name, lone surrogate and too deep level in what `parse` returned."""
    if isinstance(value, dict):
        yield from _names(value, path)
    members: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if isinstance(member, str):
            yield from _text(member, path, name)
        elif isinstance(member, dict | list):
            if len(path) < MAX_DEPTH:
                yield from faults(member, _below(path, name))
            else:
                yield fault(path[:8], f"Nested too deeply: at most {MAX_DEPTH} levels are read.")


def _names(value: dict[str, Any], path: Path) -> Iterator[Remark]:
    for name in value.names if isinstance(value, _Twice) else ():
        yield fault(_below(path, name), f'"{inert(name)}" stands here more than once.')
    for name in value:
        if _is_broken(name):
            yield fault(_below(path, name), f"{BROKEN} in this name.")


def _text(member: str, path: Path, name: str | int) -> Iterator[Remark]:
    if isinstance(member, _BadNumber):
        sentence = f"{inert(member)} is no number a plan may hold: finite, and within ±{SAFE_INTEGER}."
        yield fault(_below(path, name), sentence)
    elif _is_broken(member):
        yield fault(_below(path, name), f"{BROKEN} in this text.")


def _below(path: Path, name: str | int) -> Path:
    return (*path, inert(name) if isinstance(name, str) else name)


def _is_broken(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
