"""What does a refusal tell beside its name? Its members, as JSON can say them."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from django.db.models import Model
from django.urls import reverse
from rest_framework import exceptions as drf

from sideeffects.api.parsers import MOST_ERRORS
from sideeffects.services import execute, revoke

LONGEST_ECHO = 100  # characters of what was sent that a problem gives back


def members_of(exc: BaseException) -> dict[str, Any]:
    """Return what the error itself tells: its public attributes, or every bad member of what was sent."""
    if isinstance(exc, drf.ValidationError):
        return {"errors": _flat(exc.detail, "")[:MOST_ERRORS]}
    if type(exc).__module__.split(".")[0] in {"django", "rest_framework"}:
        return {}
    if isinstance(exc, execute.ArgumentsError):
        return {"errors": _flat(exc.errors, "arguments")[:MOST_ERRORS]}
    told = {name: _plain(value) for name, value in vars(exc).items() if not name.startswith("_")}
    if isinstance(exc, revoke.InFlightError):  # what can be asked instead
        told["fence"] = reverse("api-group-fence", args=[exc.group])
    return told | ({"url": reverse("api-group", args=[told["group"]])} if told.get("group") else {})


def _plain(value: Any) -> Any:
    """Return the value as JSON can say it; a row is named by its key."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Model):
        return str(value.pk)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _flat(detail: Any, path: str) -> list[dict[str, str]]:
    """Return DRF's nested errors as a list that names each bad member, e.g. `effects[3].id`."""
    if isinstance(detail, Mapping):
        return [line for key, item in detail.items() for line in _flat(item, _below(path, key))]
    if isinstance(detail, list | tuple):
        nested = any(isinstance(item, Mapping | list | tuple) for item in detail)
        places = [_below(path, index) if nested else path for index in range(len(detail))]
        return [line for place, item in zip(places, detail, strict=True) for line in _flat(item, place)]
    return [{"member": path, "detail": _in_json_words(detail)}]


def _below(path: str, key: Any) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key == "non_field_errors":
        return path
    name = _cut(str(key))
    return f"{path}.{name}" if path else name


# How JSON calls what DRF calls as Python does.
_JSON_WORDS = {
    "dict": "an object",
    "list": "a list",
    "str": "a string",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "NoneType": "null",
}
_GOT = re.compile(r'(?:Invalid data\. )?Expected a (dictionary|list)(?: of items)?,? but got (?:type )?"?(\w+)"?\.')


def _in_json_words(detail: Any) -> str:
    """Return what is wrong in words of JSON, and of what was sent only so much as tells it apart."""
    text, code = str(detail), getattr(detail, "code", "")
    if code == "invalid_choice" and len(text) > LONGEST_ECHO:
        return f'{_cut(text)}" is not a valid choice.'
    if match := _GOT.fullmatch(text):
        wanted = {"dictionary": "An object", "list": "A list"}[match[1]]
        return f"{wanted} is expected here, not {_JSON_WORDS.get(match[2], 'this')}."
    return text


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ECHO else f"{text[:LONGEST_ECHO]}…"
