"""Put refused attempts on the log, in a transaction of their own, after the rollback."""

import re
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from audit import log
from sideeffects.actors import Actor, party_of
from sideeffects.models import Group
from sideeffects.services.answers import Result


def name_of(refusal: Exception | type[Exception]) -> str:
    """Return the stable name of a refusal or of its class: `InFlightError` is `in-flight`."""
    kind = refusal if isinstance(refusal, type) else type(refusal)
    words = re.findall(r"[A-Z][a-z]*", kind.__name__.removesuffix("Error"))
    return "-".join(word.lower() for word in words)


def log_refusals(results: Sequence[Result], *, action: str, by: Actor, now: datetime, reason: str) -> None:
    """Append one `revoke_refused` or `restore_refused` for each refused group that exists."""
    refused = {result.group: result.refusal for result in results if result.refusal is not None}
    if not refused:
        return
    with transaction.atomic():
        rows = Group.objects.select_related("owner").filter(pk__in=list(refused)).order_by("pk")
        entries = [
            log.Entry(
                action=action,
                target=("group", str(row.pk)),
                actor=by.party,
                owner=party_of(row.owner),
                group=str(row.pk),
                data={"tool": row.tool, "refusal": name_of(refusal), "reason": reason},
            )
            for row in rows
            if (refusal := refused[row.pk]) is not None
        ]
        if entries:
            log.append(entries, now=now)
