"""What is known of one target, and what waits for it?"""

from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.db.models import Count, Q
from django.urls import reverse

from sideeffects import policies, proofs, queries
from sideeffects.models import Request, Target
from sideeffects.requested import UNSETTLED, Asking

SHOWN = 20


def find(name: str) -> Target:
    """Return the target of this name; raises NotFoundError."""
    row = Target.objects.filter(name=name).first()
    if row is None:
        raise policies.NotFoundError("target", name)
    return row


@dataclass(frozen=True)
class Sheet:
    """One target as an admin sees it."""

    row: Target

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return how many requests are open, suspended, and in flight right now."""
        rows = Request.objects.filter(target=self.row, current=True)
        return rows.aggregate(
            open=Count("pk", filter=Q(state__in=UNSETTLED)),
            suspended=Count("pk", filter=Q(suspended_at__isnull=False)),
            carried=Count("pk", filter=Q(lease_until__isnull=False)),
        )

    @cached_property
    def suspended(self) -> list[Asking]:
        """Return the first of what waits for an admin's look, longest first."""
        rows = Request.objects.filter(target=self.row, current=True).exclude(suspended_at=None)
        found = rows.select_related("target", "effect__group__owner").order_by("asked_at", "pk")[:SHOWN]
        return [Asking(row) for row in found]

    @property
    def tools(self) -> list[proofs.ToolView]:
        """Return what tools declare of it: what is asked, where an object can be read, and whether that works."""
        return proofs.tools_of(queries.tools().filter(target=self.row).order_by("tool__name"))

    @property
    def callback_url(self) -> str:
        """Return where it may say by itself how a request stands."""
        return settings.PUBLIC_URL.rstrip("/") + reverse("api-callback", args=[self.row.name])
