"""What happened to one action, in order? Its audit records, as a story for people and as evidence."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from audit import presenters, queries
from audit.filters import Cursor, Wanted
from sideeffects.transitions import Outcome

MOST = 50  # records shown on a page; the log holds the rest


@dataclass(frozen=True)
class Event:
    """One record of an action: what it says, who did it, when, and its place on the log."""

    uid: str
    action: str
    sentence: str
    actor: str
    outcome: str
    at: datetime
    seq: int | None
    leaf_hash: str
    part: str
    is_first: bool  # further parts of a long entry tell nothing that the first does not

    @property
    def ends(self) -> bool:
        """Say whether everything that was asked back was undone by it."""
        return self.action == "COMPENSATE" and self.outcome in {Outcome.REVOKED, Outcome.CONFIRMED}


@dataclass(frozen=True)
class Story:
    """The newest records of an action, oldest first; `more` where the log holds older ones."""

    records: list[Event]
    more: bool

    @property
    def events(self) -> list[Event]:
        """Return one event for each entry."""
        return [event for event in self.records if event.is_first]


def of_group(group: UUID) -> Story:
    """Return the story of a group, in a fixed number of queries."""
    page = queries.search(Wanted(group=str(group)), Cursor(), size=MOST)
    events = [_event(found) for found in page.found]
    return Story(sorted(events, key=lambda event: (event.at, event.uid)), more=page.older is not None)


def _event(found: queries.Found) -> Event:
    line = presenters.line(found)
    part = (presenters.body_of(found) or {}).get("part")
    # The record says that it has not landed, which was so then; the story goes on.
    began = _("{actor} began the call.").format(actor=line.actor)
    return Event(
        uid=line.uid,
        action=line.action,
        sentence=began if line.action == "group_opened" else line.sentence,
        actor=line.actor,
        outcome=line.outcome,
        at=line.occurred_at,
        seq=line.seq,
        leaf_hash=found.record.leaf_hash,
        part=line.part,
        is_first=not part or part["number"] == 1,
    )
