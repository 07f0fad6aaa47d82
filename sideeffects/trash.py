"""What lies in a person's trash? One entry for each revocation that can be restored."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Min

from sideeffects import lists, policies, presenters, queries
from sideeffects.actors import Actor
from sideeffects.models import Effect, Revocation
from sideeffects.transitions import EffectState

NAMED = 12  # members of a revocation that are named in the list; its page names all


@dataclass(frozen=True)
class Entry:
    """One revocation with what it removed: `lying` in all, the first of them in `effects`."""

    revocation: Revocation
    view: presenters.GroupView
    effects: list[Effect]

    @property
    def more(self) -> int:
        """Return how many are not named."""
        return int(self.revocation.lying) - len(self.effects)  # type: ignore[attr-defined]  # (annotated by the query)


@dataclass(frozen=True)
class Trash:
    """The trash of whoever asks, one page of it."""

    by: Actor
    query: Mapping[str, Any]

    @cached_property
    def cursor(self) -> lists.Cursor:
        """Return where the page begins."""
        return lists.Cursor.of(self.query)

    @cached_property
    def page(self) -> lists.Page[Revocation]:
        """Return the revocations of this page, the newest first."""
        own = policies.visible_groups(self.by).filter(owner=self.by.user)
        return lists.newest_first(queries.removed_by(own), self.cursor)

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the entries of this page."""
        effects = queries.lying_in_trash(self.page.rows, most=NAMED)
        groups = {row.group_id: row.group for row in self.page.rows}
        views = {view.group.pk: view for view in presenters.views_of(list(groups.values()), by=self.by)}
        return [Entry(row, views[row.group_id], effects.get(row.pk, [])) for row in self.page.rows]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """Return how many objects lie there in all, of how many revocations, and when the first is purged."""
        own = policies.visible_groups(self.by).filter(owner=self.by.user)
        lying = Effect.objects.filter(group__in=own, state=EffectState.REVOKED)
        return lying.aggregate(
            objects=Count("pk"), revocations=Count("revocation", distinct=True), first=Min("purge_at")
        )
