"""How do pages write sentences of `sideeffects.words`, and who did something?"""

from typing import Any

from django import template
from django.utils.translation import gettext as _

from sideeffects.actors import party_of
from sideeffects.words import Words

register = template.Library()


@register.filter
def in_words(sentence: Words) -> str:
    """Return the sentence in the reader's language; not yet escaped, and it may hold an agent's words."""
    return sentence.render(_)


@register.filter
def translated(text: str) -> str:
    """Return a marked text in the reader's language."""
    return _(text)


@register.filter
def party(stored: str, reader: Any = None) -> str:
    """Return who is meant by what rows hold, e.g. `user:alice`: a person by name, anything else with what it is."""
    if reader is not None and stored == str(party_of(reader)):
        return _("you")
    kind, colon, name = stored.partition(":")
    named = {"user": "{name}", "agent": _("agent {name}"), "system": _("the system ({name})")}
    return named[kind].format(name=name) if colon and kind in named else stored


@register.filter
def by_whom(row: Any, reader: Any) -> str:
    """Return who asked for a revocation, as the reader would say it: `you`, a name, or an agent and for whom."""
    if row is None:
        return ""
    name = _("you") if row.user_id == reader.pk else row.user.get_username()
    return _("agent {agent} for {name}").format(agent=row.agent.name, name=name) if row.agent else name
