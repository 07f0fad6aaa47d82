"""What do pages show of a batch: while it works, and when it has ended?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sideeffects import batches, lists, presenters, queries
from sideeffects.actors import Actor
from sideeffects.batches import Scope, words
from sideeffects.batches.words import BUCKETS, Bucket
from sideeffects.models import Batch, BatchItem, Revocation
from sideeffects.presenters import GroupView
from sideeffects.transitions import Outcome
from sideeffects.words import Words

PAGE = 50
NAMED = 20  # of what landed since, by name
PIECE = 500  # actions read at a time for a table


@dataclass(frozen=True)
class Line:
    """One action of a batch: what it is, what came of it, and where it stands now."""

    item: BatchItem
    view: GroupView

    @property
    def outcome(self) -> Outcome:
        """Return where it stands by now, as the totals count it."""
        return batches.stands(self.item)

    @property
    def words(self) -> Words:
        """Return that in the batch's words."""
        return words.item_words(self.outcome)


@dataclass(frozen=True)
class Share:
    """How many actions, and how many objects of them, have one outcome."""

    outcome: str
    groups: int
    effects: int

    @property
    def bucket(self) -> Bucket:
        """Return how it is called."""
        return BUCKETS[Outcome(self.outcome)]

    @property
    def words(self) -> Words:
        """Return its name as a sentence."""
        return words.item_words(self.outcome)


@dataclass(frozen=True)
class Asking:
    """One batch in a few words."""

    batch: Batch

    @property
    def is_restore(self) -> bool:
        """Say whether it brings back what another one revoked."""
        return self.batch.kind == Batch.Kind.RESTORE

    @property
    def title(self) -> str:
        """Return what it is called."""
        number = self.batch.groups
        if self.is_restore:
            return ngettext("Restore {n} action", "Restore {n} actions", number).format(n=number)
        return ngettext("Revoke {n} action", "Revoke {n} actions", number).format(n=number)

    @property
    def scope_words(self) -> str:
        """Return which actions it is about, in words that may hold another's."""
        asked = self.batch.of or self.batch
        return Scope.from_json(asked.scope).words()

    @property
    def words(self) -> Words:
        """Return whether it works, without its numbers."""
        return words.listed_words(self.batch.state)


@dataclass(frozen=True)
class Sheet(Asking):
    """One batch as whoever asks sees it now; `outcome` narrows the list of its actions, `after` pages it."""

    by: Actor
    now: datetime
    outcome: str = ""
    after: int | None = None

    @cached_property
    def totals(self) -> batches.Totals:
        """Return its numbers, all as of one moment."""
        return batches.totals(self.batch, now=self.now)

    @property
    def state_words(self) -> Words:
        """Return the sentence that says how far it has got."""
        return words.state_words(self.batch.state, done=self.totals.done, waiting=self.totals.waiting)

    @property
    def aloud(self) -> str:
        """Return what is told aloud while it works: in tenths, often enough."""
        percent = self.totals.done * 10 // max(self.batch.groups, 1) * 10
        return _("{percent} % of the actions are attempted").format(percent=percent)

    @property
    def shares(self) -> list[Share]:
        """Return one line an outcome that any action or object has."""
        groups, effects = self.totals.groups, self.totals.effects
        every = [Share(one.value, groups.get(one.value, 0), effects.get(one.value, 0)) for one in BUCKETS]
        return [share for share in every if share.groups or share.effects]

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """Return the outcomes to choose from."""
        return [(share.outcome, _(share.bucket.label)) for share in self.shares]

    @property
    def is_working(self) -> bool:
        """Say whether it goes on by itself."""
        return self.batch.state == Batch.State.WORKING

    @property
    def is_others(self) -> bool:
        """Say whether it is about what belongs to others than whoever asked for it."""
        return self.batch.authority == Revocation.Authority.ADMIN

    @property
    def needs_reason(self) -> bool:
        """Say whether bringing it back takes a typed reason."""
        return self.is_others or self.batch.user_id != self.by.user.pk

    @cached_property
    def _found(self) -> list[BatchItem]:
        rows = batches.items(self.batch, self.outcome or None)
        rows = rows if self.after is None else rows.filter(position__gt=self.after)
        return list(rows[: PAGE + 1])

    @cached_property
    def lines(self) -> list[Line]:
        """Return the actions of this page, in the order of work."""
        return lines_of(self._found[:PAGE], by=self.by)

    @property
    def next(self) -> int | None:
        """Return where the next page begins."""
        return self._found[PAGE - 1].position if len(self._found) > PAGE else None

    @cached_property
    def _landed(self) -> list[GroupView]:
        if self.is_working or self.is_restore:
            return []
        rows = queries.shown(batches.landed_since(self.batch, by=self.by)).order_by("-pk")
        return presenters.views_of(list(rows[: NAMED + 1]), by=self.by)

    @property
    def landed(self) -> list[GroupView]:
        """Return the first of what landed in its scope since it was frozen, once it does not work any more."""
        return self._landed[:NAMED]

    @property
    def more_landed(self) -> bool:
        """Say whether there are more than are named."""
        return len(self._landed) > NAMED

    def landed_ids(self, most: int) -> list[UUID]:
        """Return the newest of what landed since, by id."""
        if self.is_working or self.is_restore:
            return []
        found = batches.landed_since(self.batch, by=self.by).order_by("-pk")
        return list(found.values_list("pk", flat=True)[:most])

    @cached_property
    def restores(self) -> Sequence[Asking]:
        """Return the askings to restore what it revoked, newest first."""
        rows = self.batch.restores.select_related("user", "agent", "of").order_by("-pk")
        return [Asking(row) for row in rows[:NAMED]]

    @property
    def scope_query(self) -> str:
        """Return its scope as an address says it."""
        return urlencode({name: said for name, said in self.batch.scope.items() if said}, doseq=True)

    @property
    def standing(self) -> str:
        """Return what a page that watches it compares: another state says other things on the whole page."""
        return str(self.batch.state)


def lines_of(items: Sequence[BatchItem], *, by: Actor) -> list[Line]:
    """Return these items with what their groups are called."""
    views = {view.group.pk: view for view in presenters.views_of([item.group for item in items], by=by)}
    return [Line(item, views[item.group_id]) for item in items]


@dataclass(frozen=True)
class Askings:
    """A list of batches, newest first."""

    rows: QuerySet[Batch]
    query: Mapping[str, Any]

    @cached_property
    def cursor(self) -> lists.Cursor:
        """Return where the page begins."""
        return lists.Cursor.of(self.query)

    @cached_property
    def page(self) -> lists.Page[Batch]:
        """Return the page that is asked for."""
        return lists.newest_first(self.rows, self.cursor)

    @property
    def lines(self) -> list[Asking]:
        """Return its batches in a few words."""
        return [Asking(row) for row in self.page.rows]


def pieces(batch: Batch, outcome: str, *, by: Actor) -> Iterator[list[Line]]:
    """Yield the actions of a batch some at a time, however many there are."""
    after, rows = -1, batches.items(batch, outcome or None)
    while found := list(rows.filter(position__gt=after)[:PIECE]):
        yield lines_of(found, by=by)
        after = found[-1].position
