"""What does a list of actions show: which page, folded by conversation, under which honest numbers?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from audit.inert import visible
from sideeffects import lists, offers, presenters, proofs, queries
from sideeffects.actors import Actor
from sideeffects.filters import GroupFilter
from sideeffects.models import Agent, Group
from sideeffects.presenters import GroupView
from sideeffects.proofs import Proof
from sideeffects.transitions import Standing

WEEK = timedelta(days=7)
SCOPE = {"conversation", "run", "tool", "agent", "owner"}  # what a batch narrows by too


@dataclass(frozen=True)
class Card:
    """One action in a list: what it says, what is odd about it, and what may be done."""

    view: GroupView
    proof: Proof | None = None

    @cached_property
    def offers(self) -> list[offers.Offer]:
        """Return the buttons, or why there is none."""
        return offers.offers_of(self.view)

    @cached_property
    def flags(self) -> list[str]:
        """Return what is odd about it."""
        return offers.flags_of(self.view)


@dataclass(frozen=True)
class Conversation:
    """The cards of one conversation on this page, and how many actions it has in all."""

    name: str
    cards: list[Card]
    total: int


@dataclass(frozen=True)
class Listing:
    """A list of actions as it is asked for: `groups` are all that may stand in it, `query` narrows and pages."""

    groups: QuerySet[Group]
    query: Mapping[str, Any]
    by: Actor
    now: datetime

    @cached_property
    def filter(self) -> GroupFilter:
        """Return the filters as given; where one cannot be read, its form says so and nothing is listed."""
        return GroupFilter(self.query, queryset=self.groups)

    @cached_property
    def cursor(self) -> lists.Cursor:
        """Return where the page begins."""
        return lists.Cursor.of(self.query)

    @property
    def is_readable(self) -> bool:
        """Say whether everything in the address can be meant."""
        return self.filter.is_valid() and self.cursor.is_readable

    @cached_property
    def narrowed(self) -> bool:
        """Say whether anything narrows the list."""
        return any(self.query.get(name) for name in self.filter.filters)

    @property
    def narrowed_further(self) -> bool:
        """Say whether one of the less used filters narrows the list, so that it must be in sight."""
        return any(self.query.get(name) for name in ("agent", "tool", "conversation", "run"))

    @property
    def scope(self) -> str:
        """Return what narrows the list, as the address of a batch; empty where a batch could not mean just these."""
        said = {name: self.query[name] for name in self.filter.filters if self.query.get(name)}
        return urlencode(said) if said and said.keys() <= SCOPE and self.is_readable else ""

    @cached_property
    def page(self) -> lists.Page[Group]:
        """Return the page that is asked for."""
        if not self.filter.is_valid():
            return lists.Page([])
        rows = self.filter.qs.select_related("owner", "agent", "tool_version")
        return lists.newest_first(rows, self.cursor)

    @cached_property
    def cards(self) -> list[Card]:
        """Return one card a group, newest first."""
        found = proofs.of_groups(self.page.rows)
        views = presenters.views_of(self.page.rows, by=self.by)
        return [Card(view, found.get(view.group.tool_version_id or 0)) for view in views]

    @cached_property
    def conversations(self) -> list[Conversation]:
        """Return the cards folded by conversation, in order of appearance."""
        names = list(dict.fromkeys(card.view.group.conversation for card in self.cards))
        counted = self.groups.filter(conversation__in=names).values("conversation").order_by()
        totals = dict(counted.annotate(total=Count("pk")).values_list("conversation", "total"))
        return [
            Conversation(name, [card for card in self.cards if card.view.group.conversation == name], totals[name])
            for name in names
        ]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Return how many actions there are in all, lately, by how many agents, and how many wait on something."""
        counted = self.groups.aggregate(
            total=Count("pk"),
            week=Count("pk", filter=Q(opened_at__gt=self.now - WEEK)),
            agents=Count("agent", distinct=True),
        )
        return {**counted, "waiting": queries.waiting(self.groups).count()}

    @property
    def standings(self) -> list[tuple[str, str]]:
        """Return what actions can be called, to choose from, and what was asked for where it is none of these."""
        known = [(item.value, _(item.value.capitalize())) for item in Standing]
        asked = self.query.get("standing", "")
        return known if not asked or asked in Standing.__members__.values() else [*known, (asked, asked)]

    @cached_property
    def agents(self) -> list[str]:
        """Return the names of the agents that acted here, to choose from."""
        rows = Agent.objects.filter(pk__in=self.groups.exclude(agent=None).values("agent"))
        return _plain(rows.order_by("name").values_list("name", flat=True))

    @cached_property
    def tools(self) -> list[str]:
        """Return the names of the tools that were called here, to choose from."""
        return _plain(self.groups.order_by("tool").values_list("tool", flat=True).distinct())


def _plain(names: Iterable[str]) -> list[str]:
    """Return the names that look like what they are: a choice shows them as they stand, so the others are left out."""
    return [name for name in names if visible(name) == name]
