"""Write to people about what went stale, was refused or needs one of them: one mail a person a go, never one a row."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from audit.inert import visible
from sideeffects.actors import ADMIN, Actor
from sideeffects.models import Notice

logger = logging.getLogger(__name__)
GO = 500  # notices in one go
LISTED = 50  # lines in one mail
LEASE = timedelta(minutes=5)
LOOK_AGAIN = timedelta(days=1)  # whether anybody has an address by then
OWNERS_ONLY = {"goes for good"}  # what only the owner decides about


def send(*, by: Actor, now: datetime) -> int:
    """Send what is unsent, folded by person, and return how many notices went out.

    What nobody with an address would read stays unsent, and is looked at again after a day. Claimed before and marked
    after, so a crash in between sends one mail twice and loses none. Writes nothing on the log: what a mail tells is
    there already. `by` is the system.
    """
    notices = _claim(now=now)
    if not notices:
        return 0
    admins = list(get_user_model()._default_manager.filter(takeback_roles__role=ADMIN, is_active=True))
    mails: dict[Any, list[Notice]] = defaultdict(list)
    for notice in notices:
        for person in {notice.recipient, *(() if notice.kind in OWNERS_ONLY else admins)}:
            if person.is_active and _address(person):
                mails[person].append(notice)
    failed = {notice.pk for person, own in mails.items() if not _mailed(person, own, by=by) for notice in own}
    told = {notice.pk for own in mails.values() for notice in own}
    Notice.objects.filter(pk__in=told - failed).update(sent_at=now, lease_until=None)
    if unread := {notice.pk for notice in notices} - told:
        logger.warning("%s has %d notices for nobody with an address", by.system, len(unread))
        Notice.objects.filter(pk__in=unread).update(lease_until=now + LOOK_AGAIN)
    return len(told - failed)


def _address(person: Any) -> str:
    return getattr(person, person.get_email_field_name(), "") or ""


def _claim(*, now: datetime) -> list[Notice]:
    with transaction.atomic():
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        rows = (
            Notice.objects.select_for_update(of=("self",), skip_locked=True).filter(free, sent_at=None).order_by("pk")
        )
        found = list(rows.select_related("group__owner", "owner", "request__target", "request__effect")[:GO])
        Notice.objects.filter(pk__in=[row.pk for row in found]).update(lease_until=now + LEASE)
    return found


def _mailed(person: Any, notices: Sequence[Notice], *, by: Actor) -> bool:
    subject = _("Takeback: {number} to look at").format(number=len(notices))
    message = EmailMessage(subject, _text(notices), settings.DEFAULT_FROM_EMAIL, [_address(person)])
    try:
        message.send()
    except OSError as error:  # smtplib's errors are OSErrors
        logger.warning("%s could not write to a person (%s); tried again later", by.system, type(error).__name__)
        return False
    return True


def _text(notices: Sequence[Notice]) -> str:
    lines = [_line(notice) for notice in notices[:LISTED]]
    if len(notices) > LISTED:
        lines.append(_("… and {more} more.").format(more=len(notices) - LISTED))
    return "\n".join([*lines, "", settings.PUBLIC_URL])


def _line(notice: Notice) -> str:
    """Return one line: what, where, and how it stands; nothing of it is the agent's words."""
    row = notice.request
    what = f"{row.effect.type} {row.effect.object_id} ({row.target.name})" if row else notice.about
    what = what or (notice.group.tool if notice.group else "")
    return f"- {notice.kind}: {visible(what)}" + (f": {visible(notice.detail)}" if notice.detail else "")
