"""How do tests make and change the help desk's objects?"""

from typing import Any

from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from tests.adopter.models import Change, Reply, Ticket
from tests.adopter.takeback import keep
from tests.factories import NOW
from tests.samples import Sample


def _ticket(owner: Any, text: str) -> Ticket:
    row = Ticket.objects.create(handler=owner, subject=text)
    keep([row], "", now=NOW)
    return row


def _write_ticket(row: Any, text: str) -> None:
    row.subject = text
    row.save()
    keep([row], "", now=NOW)


def _erase_ticket(row: Any) -> None:
    Change.objects.filter(ticket=row).delete()
    Ticket.objects.filter(pk=row.pk).delete()


def _reply(owner: Any, text: str) -> Any:
    row = Reply(handler=owner, ticket=_ticket(owner, "Ticket"), text=text)
    return bulk_create_with_history([row], Reply, default_date=NOW)[0]


def _write_reply(row: Any, text: str) -> None:
    row.text = text
    bulk_update_with_history([row], Reply, ["text"], default_date=NOW)


def _erase_reply(row: Any) -> None:
    Reply.history.filter(code=row.pk).delete()
    Reply.objects.filter(pk=row.pk).delete()


SAMPLES = [
    Sample(
        type="ticket",
        text="subject",
        make=_ticket,
        write=_write_ticket,
        edit=lambda row, said: Ticket.objects.filter(pk=row.pk).update(subject=said),
        give=lambda row, person: Ticket.objects.filter(pk=row.pk).update(handler=person),
        erase=_erase_ticket,
        create=lambda said: ("ticket.open", {"subject": said}),
        change=lambda key, said: ("ticket.rename", {"ticket": key, "subject": said}),
        delete=lambda key: ("ticket.archive", {"ticket": key}),
    ),
    Sample(
        type="reply",
        text="text",
        make=_reply,
        write=_write_reply,
        edit=lambda row, said: Reply.objects.filter(pk=row.pk).update(text=said),
        give=lambda row, person: Reply.objects.filter(pk=row.pk).update(handler=person),
        erase=_erase_reply,
        create=lambda said: ("ticket.open", {"subject": "Ticket", "replies": [said]}),
    ),
]
