"""What exactly is asked of a target about one object? Templates of method, path and body, filled in; pure.

A compensation reads `DELETE /contacts/{id}` or `POST /bookings/{id}/change {"flight": "{version}"}`; a status path
reads `/contacts/{id}`. Only `{id}`, `{type}`, `{operation}` and `{version}` can stand in them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

METHODS = frozenset({"DELETE", "POST", "PUT", "PATCH"})
NAMES = frozenset({"id", "type", "operation", "version"})
_FIELD = re.compile(r"\{(\w*)\}")
_PATH = re.compile(r"/[\w\-.~!$&'()*+,;=:@%/{}]*(\?[\w\-.~!$&'()*+,;=:@%/?{}]*)?", re.ASCII)


class BadCompensationError(Exception):
    """A declared compensation cannot be meant; `declared` is what was written."""

    def __init__(self, declared: str, why: str) -> None:
        self.declared, self.why = declared, why
        super().__init__(f"{declared!r} cannot be asked of a target: {why}.")


class NotNameableError(Exception):
    """An object's id would lead to another place of the target than the declared one."""

    def __init__(self, value: str) -> None:
        self.value = value
        super().__init__(f"The id {value!r} cannot stand in an address.")


@dataclass(frozen=True)
class Compensation:
    """One declared way back: method, path and body as templates."""

    method: str
    path: str
    body: Any = None

    def filled(self, values: Mapping[str, str]) -> "Compensation":
        """Return it for one object; raises NotNameableError."""
        return Compensation(self.method, path_for(self.path, values), _filled(self.body, values))


def compensation(declared: str) -> Compensation:
    """Read a declared compensation; raises BadCompensationError."""
    method, _, rest = declared.strip().partition(" ")
    path, _, body = rest.strip().partition(" ")
    if method not in METHODS:
        raise BadCompensationError(declared, f"it begins with none of {', '.join(sorted(METHODS))}")
    check_path(path)
    try:
        parsed = json.loads(body) if body.strip() else None
    except ValueError:
        raise BadCompensationError(declared, "its body is not JSON") from None
    _check_names(body, declared)
    return Compensation(method, path, parsed)


def check_path(path: str) -> None:
    """Let through a path below the target's base; raises BadCompensationError."""
    if not _PATH.fullmatch(path) or path.startswith("//"):
        raise BadCompensationError(path, "its path is not one below the target's address")
    if any(segment in {".", ".."} for segment in path.partition("?")[0].split("/")):
        raise BadCompensationError(path, "its path leads upwards")
    _check_names(path, path)


def path_for(path: str, values: Mapping[str, str]) -> str:
    """Return the path for one object, every value quoted whole; raises NotNameableError."""
    for name in _FIELD.findall(path):
        if values[name] in {"", ".", ".."}:
            raise NotNameableError(values[name])
    return _FIELD.sub(lambda found: quote(values[found[1]], safe=""), path)


def _check_names(text: str, declared: str) -> None:
    unknown = sorted(set(_FIELD.findall(text)) - NAMES)
    if unknown:
        raise BadCompensationError(declared, f"it asks for {', '.join(unknown)}, which nothing knows")


def _filled(body: Any, values: Mapping[str, str]) -> Any:
    """Return the body with values inside its texts: what they hold can never become structure."""
    if isinstance(body, str):
        return _FIELD.sub(lambda found: values[found[1]], body)
    if isinstance(body, dict):
        return {key: _filled(item, values) for key, item in body.items()}
    return [_filled(item, values) for item in body] if isinstance(body, list) else body
