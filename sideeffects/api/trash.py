"""What can be restored?"""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from rest_framework import serializers

from sideeffects import policies, presenters, queries
from sideeffects.actors import Actor
from sideeffects.api.lists import Listing
from sideeffects.api.shapes import GroupSerializer, RevocationSerializer, Shape, counted, members_address
from sideeffects.models import Revocation
from sideeffects.presenters import TrashView


class TrashSerializer(Shape):
    """What the restore of one revocation brings back, and how much of its group stays as it is."""

    revocation = RevocationSerializer()
    group = GroupSerializer()
    number = serializers.IntegerField(help_text="how many objects come back")
    types = counted("how many objects of each type come back")
    stays = serializers.IntegerField(help_text="how many members of the group a restore leaves as they are")
    in_trash_until = serializers.DateTimeField(allow_null=True, help_text="fixed at the revoke")
    purge_announced_at = serializers.DateTimeField(
        source="revocation.purge_announced_at", allow_null=True, help_text="nothing is purged within a day after it"
    )
    purge_held_since = serializers.DateTimeField(
        source="revocation.purge_held_since", allow_null=True, help_text="since when a row of it could not be purged"
    )
    fate = serializers.CharField(help_text="when it leaves for good, or what holds it, as every page says it")
    effects = serializers.SerializerMethodField(help_text="the address of what comes back")
    restore = serializers.SerializerMethodField(help_text="where to ask for it, by POST")

    def get_effects(self, view: TrashView) -> str:
        """Return the address of what comes back."""
        return members_address(view.group.group.pk, "revoked")

    def get_restore(self, view: TrashView) -> str:
        """Return where a restore is asked for."""
        return reverse("api-group-restore", args=[view.group.group.pk])


class Trash(Listing):
    """The trash by revocation, newest first."""

    serializer_class = TrashSerializer
    queryset = Revocation.objects.all()

    def rows(self, by: Actor) -> Any:
        """Return the revocations that something still lies in the trash of."""
        return queries.revocations_in_trash(policies.visible_groups(by))

    def shown(self, rows: Sequence[Any], by: Actor) -> Sequence[Any]:
        """Return them with what comes back."""
        return presenters.trash_of(rows, by=by)
