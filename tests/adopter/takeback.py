"""How does the help desk join the console? An adapter class a model, and the tools that its agents may use."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from rest_framework import serializers
from simple_history.utils import bulk_create_with_history

from sideeffects.targets.base import Content, LocalAdapter
from sideeffects.targets.history import HistoryAdapter
from sideeffects.targets.registry import register
from sideeffects.tools import Call, Contract, Written, tool
from sideeffects.transitions import Operation, RevokeClass
from tests.adopter.models import Change, Reply, Ticket

LOCAL = Contract(revoke_class=RevokeClass.LOCAL)
FIELDS = ("subject", "priority")


@register
class ReplyAdapter(HistoryAdapter):
    """Replies: versions by django-simple-history, so this is all there is to say."""

    type = "reply"
    model = Reply
    apart = frozenset({"handler"})
    under: ClassVar = {"ticket": "ticket"}

    def is_deleted(self, row: Reply) -> bool:
        """Say whether it is hidden."""
        return row.hidden

    def belongs_to(self, row: Reply, owner: Any) -> bool:
        """Say whether this member wrote it."""
        return bool(row.handler_id == owner.pk)

    def deleted(self, *, by: str, now: datetime) -> dict[str, Any]:
        """Return what hides a reply."""
        return {"hidden": True}

    def standing(self) -> dict[str, Any]:
        """Return what shows it."""
        return {"hidden": False}


@register
class TicketAdapter(LocalAdapter):
    """Tickets: versions in the help desk's own table."""

    type = "ticket"

    def find(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the tickets that are there."""
        return {str(row.pk): row for row in Ticket.objects.filter(pk__in=_uuids(ids))}

    def lock(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Lock and return them."""
        rows = Ticket.objects.select_for_update().filter(pk__in=_uuids(ids)).order_by("pk")
        return {str(row.pk): row for row in rows}

    def is_deleted(self, row: Ticket) -> bool:
        """Say whether it is archived."""
        return not row.live

    def belongs_to(self, row: Ticket, owner: Any) -> bool:
        """Say whether this member handles it."""
        return bool(row.handler_id == owner.pk)

    def content(self, row: Any) -> Content:
        """Return subject and priority, of a ticket or of one version of it."""
        return {name: str(getattr(row, name)) for name in FIELDS}

    def contents(self, versions: Collection[str]) -> Mapping[str, Content]:
        """Return what tickets said at these versions."""
        return {str(row.pk): self.content(row) for row in Change.objects.filter(pk__in=_numbers(versions))}

    def versions(self, rows: Sequence[Any], *, now: datetime) -> Mapping[str, str]:
        """Return the newest version of each, keeping one where a ticket was changed without."""
        changes = Change.objects.filter(ticket__in=[row.pk for row in rows]).order_by("pk")
        newest = {str(row.ticket_id): row for row in changes}
        behind = [row for row in rows if self.content(newest.get(str(row.pk), Change())) != self.content(row)]
        newest |= {str(row.ticket_id): row for row in keep(behind, "found so", now=now)}
        return {str(row.pk): str(newest[str(row.pk)].pk) for row in rows}

    def remove(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Archive them."""
        return self._set_live(rows, f"archived by {by}", live=False, now=now)

    def purge(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Delete them, and their versions with them; a reply keeps its ticket."""
        found = Ticket.objects.filter(pk__in=[row.pk for row in rows], live=False)
        gone = {str(key) for key in found.values_list("pk", flat=True)}
        found.delete()
        return gone

    def restore(self, rows: Sequence[Any], *, by: str, now: datetime) -> set[str]:
        """Bring them back."""
        return self._set_live(rows, f"brought back by {by}", live=True, now=now)

    def revert(
        self,
        rows: Sequence[Any],
        *,
        to: Mapping[str, str],
        fields: Mapping[str, AbstractSet[str]],
        by: str,
        now: datetime,
    ) -> set[str]:
        """Copy the fields from the version."""
        kept = {str(row.pk): row for row in Change.objects.filter(pk__in=_numbers(to.values()))}
        for row in rows:
            for name in fields[str(row.pk)]:
                setattr(row, name, getattr(kept[to[str(row.pk)]], name))
        there = set(self.lock([str(row.pk) for row in rows]))
        changed = [row for row in rows if str(row.pk) in there]
        Ticket.objects.bulk_update(changed, FIELDS)
        keep(changed, f"set back by {by}", now=now)
        return there

    def _set_live(self, rows: Sequence[Any], why: str, *, live: bool, now: datetime) -> set[str]:
        Ticket.objects.filter(pk__in=[row.pk for row in rows]).update(live=live)
        changed = list(Ticket.objects.filter(pk__in=[row.pk for row in rows], live=live))
        keep(changed, why, now=now)
        return {str(row.pk) for row in changed}


def keep(rows: Sequence[Ticket], why: str, *, now: datetime) -> list[Change]:
    """Keep a version of each ticket as it is now."""
    versions = [Change(ticket=row, at=now, why=why, **_values(row)) for row in rows]
    return Change.objects.bulk_create(versions)


def _values(row: Ticket) -> dict[str, Any]:
    return {"subject": row.subject, "priority": row.priority, "live": row.live}


def _uuids(ids: Sequence[str]) -> list[UUID]:
    return [UUID(key) for key in ids if _is_uuid(key)]


def _is_uuid(key: str) -> bool:
    try:
        return str(UUID(key)) == key
    except ValueError:
        return False


def _numbers(versions: Collection[str]) -> list[int]:
    return [int(version) for version in versions if version.isascii() and version.isdigit()]


# -- What agents may do ---------------------------------------------------------------------------------------------


class TicketArguments(serializers.Serializer[Any]):
    """A ticket with its replies."""

    subject = serializers.CharField(max_length=100)
    replies = serializers.ListField(child=serializers.CharField(), required=False, default=list)


class TicketChanges(serializers.Serializer[Any]):
    """A ticket's new subject."""

    ticket = serializers.UUIDField()
    subject = serializers.CharField(max_length=100)


class TicketArgument(serializers.Serializer[Any]):
    """Which ticket."""

    ticket = serializers.UUIDField()


@tool("ticket.open", arguments=TicketArguments, contract=LOCAL)
def open_ticket(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Open a ticket and answer it."""
    ticket = Ticket.objects.create(handler=call.owner, subject=arguments["subject"])
    keep([ticket], "", now=call.now)
    replies = [Reply(handler=call.owner, ticket=ticket, text=text) for text in arguments["replies"]]
    bulk_create_with_history(replies, Reply, default_date=call.now)
    return [
        Written(type="ticket", id=str(ticket.pk), title=ticket.subject),
        *(Written(type="reply", id=str(reply.pk)) for reply in replies),
    ]


@tool("ticket.rename", arguments=TicketChanges, contract=LOCAL)
def rename_ticket(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Give a ticket another subject."""
    [ticket] = call.hold("ticket", [str(arguments["ticket"])])
    ticket.subject = arguments["subject"]
    ticket.save()
    keep([ticket], "", now=call.now)
    return [Written(type="ticket", id=str(ticket.pk), title=ticket.subject, operation=Operation.UPDATE)]


@tool("ticket.archive", arguments=TicketArgument, contract=LOCAL)
def archive_ticket(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Archive a ticket."""
    [ticket] = call.hold("ticket", [str(arguments["ticket"])])
    TicketAdapter().remove([ticket], by=call.by, now=call.now)
    return [Written(type="ticket", id=str(ticket.pk), title=ticket.subject, operation=Operation.DELETE)]
