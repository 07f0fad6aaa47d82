"""How do pages write times and other people's words?"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from audit.inert import visible
from plans.core.words import plain

register = template.Library()
register.filter("plain", plain)

_STEPS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@register.filter
def iso(at: datetime) -> str:
    """Return the moment as machines read it, in UTC."""
    return at.astimezone(UTC).isoformat()


@register.filter
def absolute(at: datetime) -> str:
    """Return the moment in the reader's zone, which is named."""
    local = timezone.localtime(at)
    return f"{date_format(local, 'j M Y, H:i:s')} {local.tzname()}"


@register.filter
def ago(at: datetime) -> str:
    """Return the age in its two largest units, e.g. `2 d 4 h ago`; what lies ahead as `in 3 h`."""
    distance = timezone.now() - at  # noqa: TID251  (pages are faces)
    words = span(abs(distance))
    if distance < timedelta(0):
        return _("in {span}").format(span=words)
    return _("{span} ago").format(span=words)


@register.filter
def age(at: datetime) -> str:
    """Return how long ago a moment was, without saying so, e.g. `31 d 2 h`."""
    return span(timezone.now() - at)  # noqa: TID251  (pages are faces)


@register.filter
def is_past(at: datetime) -> bool:
    """Say whether a moment has come, by the server's clock."""
    return at <= timezone.now()  # noqa: TID251  (pages are faces)


def span(length: timedelta) -> str:
    """Return a length of time in its largest unit and the next one, e.g. `2 d 4 h`; minutes and seconds stand alone."""
    rest = int(length.total_seconds())
    for (seconds, unit), (smaller, next_unit) in pairwise(_STEPS):
        count, left = divmod(rest, seconds)
        if count:
            more = left // smaller if unit != "min" else 0
            return f"{count} {unit} {more} {next_unit}" if more else f"{count} {unit}"
    return f"{rest} {_STEPS[-1][1]}"


@register.filter
def role_names(person: Any) -> set[str]:
    """Return the roles a person holds, as fetched with the list."""
    return {role.role for role in person.takeback_roles.all()}


@register.filter
def inert(text: object) -> SafeString:
    """Return another's words so that they can do nothing: escaped, isolated, and every invisible character shown."""
    return format_html("<bdi>{}</bdi>", visible(text))
