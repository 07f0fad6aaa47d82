"""What lies in a person's trash? One entry for each revocation that can be restored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Count, Min

from sideeffects import lists, offers, policies, presenters, queries
from sideeffects.actors import Actor
from sideeffects.models import Effect, Revocation
from sideeffects.services import foresight
from sideeffects.transitions import EffectState, Operation
from sideeffects.words import Words

NAMED = 12  # members of a revocation that are named in the list; its page names all


@dataclass(frozen=True)
class Entry:
    """One revocation with what it removed: `lying` in all, the first of them in `effects`, kept until when."""

    revocation: Revocation
    view: presenters.GroupView
    effects: list[Effect]
    lying: int
    until: datetime | None
    vanished: int = 0  # of those that are named: not there any more, so not in the trash either

    @property
    def label(self) -> str:
        """Return what its button says."""
        return offers.restore_label(self.view)

    @property
    def returns(self) -> bool:
        """Say whether rows come back from the trash, not only changes or deletions that are made again."""
        return Operation.CREATE in self.view.revoked

    @property
    def fate(self) -> Words:
        """Say when it leaves for good, or what holds it."""
        held = bool(self.view.open_conflicts)
        return presenters.fate_words(self.revocation, until=self.until, conflict_open=held)

    @property
    def there(self) -> int:
        """Return how many are left to come back, as far as is looked."""
        return self.lying - self.vanished

    @property
    def more(self) -> int:
        """Return how many are not named."""
        return self.lying - len(self.effects)


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
        rows = queries.revocations_in_trash(own).select_related(
            "user", "agent", "group__owner", "group__agent", "group__tool_version"
        )
        return lists.newest_first(rows, self.cursor)

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the entries of this page."""
        rows = self.page.rows
        effects = queries.lying_in_trash(rows, most=NAMED)
        numbers, until = queries.removed_by(rows), queries.kept_until(rows)
        vanished = foresight.vanished([effect for some in effects.values() for effect in some])
        groups = {row.group_id: row.group for row in rows}
        views = {view.group.pk: view for view in presenters.views_of(list(groups.values()), by=self.by)}
        return [
            Entry(
                revocation=row,
                view=views[row.group_id],
                effects=effects.get(row.pk, []),
                lying=sum(numbers[row.pk].values()),
                until=until.get(row.pk),
                vanished=sum(effect.pk in vanished for effect in effects.get(row.pk, [])),
            )
            for row in rows
        ]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """Return how many objects lie there in all, of how many revocations, and when the first is purged."""
        own = policies.visible_groups(self.by).filter(owner=self.by.user)
        lying = Effect.objects.filter(group__in=own, state=EffectState.REVOKED)
        return lying.aggregate(
            objects=Count("pk"),
            revocations=Count("revocation", distinct=True),
            first=Min("purge_at", filter=queries.IN_TRASH),
        )
