"""What was sent to targets about one action, word for word, and what came back?"""

from dataclasses import dataclass, field

from sideeffects.models import Attempt, Callback, Group, Request
from sideeffects.requested import Asking

MOST = 20  # requests shown on a page
MOST_TRIES = 200


@dataclass(frozen=True)
class Sent:
    """One request with its tries and the words that came in by themselves."""

    asking: Asking
    attempts: list[Attempt] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)

    @property
    def row(self) -> Request:
        """Return the request itself."""
        return self.asking.row


@dataclass(frozen=True)
class Exchange:
    """The requests about one action, by member, newest first; `more` where not all are shown."""

    sent: list[Sent]
    more: bool


def of_group(group: Group) -> Exchange:
    """Return what was exchanged about a group, in three queries."""
    rows = Request.objects.filter(effect__group=group).select_related("target", "effect", "user", "agent")
    found = list(rows.order_by("effect__position", "-pk")[: MOST + 1])
    sent = {row.pk: Sent(Asking(row)) for row in found[:MOST]}
    attempts = list(Attempt.objects.filter(request__in=list(sent)).order_by("request", "number")[: MOST_TRIES + 1])
    for attempt in attempts[:MOST_TRIES]:
        sent[attempt.request_id].attempts.append(attempt)
    for callback in Callback.objects.filter(request__in=list(sent)).order_by("heard_at")[:MOST_TRIES]:
        sent[callback.request_id].callbacks.append(callback)
    return Exchange(list(sent.values()), more=len(found) > MOST or len(attempts) > MOST_TRIES)
