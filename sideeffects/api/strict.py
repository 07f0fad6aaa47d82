"""How is a body held to its shape? Unknown members, wrong types and half-said times are refused by their path."""

import re
from collections.abc import Mapping
from datetime import UTC
from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.utils.serializer_helpers import BindingDict

from audit.inert import shows_nothing

LONGEST_KEY = 200
_PLAIN_KEY = re.compile(r"[\x21\x23-\x7e][\x20-\x7e]*")
_QUOTED_KEY = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class Strict(serializers.Serializer[Any]):
    """A body that holds the members named here and no others."""

    @property
    def fields(self) -> BindingDict:
        """Return the members; they hold nothing of a body, and making them costs as much as reading it."""
        return _members(type(self))

    def to_internal_value(self, data: Any) -> Any:
        """Return what was said; raises ValidationError with everything that is wrong, unknown members among it."""
        known = self.fields
        names = data if isinstance(data, Mapping) else ()
        unknown = {str(name): ["There is no such member."] for name in names if name not in known}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**_by_member(error.detail), **unknown}) from None
        if unknown:
            raise serializers.ValidationError(unknown)
        return value


@cache
def _members(kind: type[Strict]) -> BindingDict:
    made: BindingDict = serializers.Serializer.fields.func(kind())  # type: ignore[attr-defined]  # (Django's cached_property)
    return made


class Text(serializers.CharField):
    """A string as it was sent: a number is none, and no blank is taken away."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the string; raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Name(Text):
    """A string by which people find something: one that shows nothing names nothing."""

    def to_internal_value(self, data: Any) -> str:
        """Return the string; raises ValidationError."""
        text = super().to_internal_value(data)
        if text and shows_nothing(text):
            raise serializers.ValidationError("A name needs at least one visible character.")
        return text


class Moment(serializers.DateTimeField):
    """A time of RFC 3339, with its offset; kept as text in UTC."""

    def __init__(self, **options: Any) -> None:
        super().__init__(default_timezone=UTC, **options)

    def to_internal_value(self, value: Any) -> Any:
        """Return the time as text of one fixed form, e.g. `2026-11-30T12:00:00.000000Z`; raises ValidationError."""
        if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
            self.fail("invalid", format="YYYY-MM-DDThh:mm:ss[.ffffff](Z|+hh:mm|-hh:mm)")
        moment = super().to_internal_value(value.upper())
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def idempotency_key(request: Request) -> str:
    """Return the caller's own key, or nothing where none was sent; raises ValidationError.

    Read as draft-ietf-httpapi-idempotency-key-header has it, a quoted string; the same key without quotes is the same.
    """
    sent = request.headers.get("Idempotency-Key")
    if sent is None:
        return ""
    quoted = _QUOTED_KEY.fullmatch(sent.strip())
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else sent.strip()
    if not 0 < len(key) <= LONGEST_KEY or not (quoted or _PLAIN_KEY.fullmatch(key)):
        raise serializers.ValidationError({"Idempotency-Key": [f"1 to {LONGEST_KEY} printable ASCII characters."]})
    return key


def _by_member(detail: Any) -> dict[str, Any]:
    return detail if isinstance(detail, dict) else {"non_field_errors": detail}
