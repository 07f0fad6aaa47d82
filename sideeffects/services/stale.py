"""Flag what has been unresolved for longer than its threshold: once, however often and however late this runs."""

from datetime import datetime

from django.db import transaction

from audit import log
from sideeffects.actors import Actor, party_of
from sideeffects.models import Group, Request
from sideeffects.services.ask import threshold
from sideeffects.services.told import notify
from sideeffects.tools import Contract
from sideeffects.transitions import GroupState

GO = 500  # rows flagged in one transaction


def flag(*, by: Actor, now: datetime) -> int:
    """Stamp everything overdue that has no stamp, and return how many that were. Writes `went_stale`.

    `stale_since` is when the threshold was passed, not when this found it.
    """
    total = 0
    while done := _flag_requests(by=by, now=now):
        total += done
    after = None
    while True:
        done, after = _flag_groups(after, by=by, now=now)
        total += done
        if after is None:
            return total


def _flag_requests(*, by: Actor, now: datetime) -> int:
    with transaction.atomic():
        found = Request.objects.filter(stale_at__lte=now, stale_since=None, current=True).order_by("stale_at")
        locked = found.select_for_update(of=("self",), no_key=True, skip_locked=True)
        rows = list(locked.select_related("effect__group__owner", "target")[:GO])
        for row in rows:
            row.stale_since = row.stale_at
        Request.objects.bulk_update(rows, ["stale_since"])
        if rows:
            log.append([_entry_of_request(row, by=by) for row in rows], now=now)
        notify([(row.effect.group, row, "stale") for row in rows], now=now)
    return len(rows)


def _flag_groups(after: object, *, by: Actor, now: datetime) -> tuple[int, object]:
    """Flag open and lost calls page by page; returns how many, and where the next page begins."""
    with transaction.atomic():
        found = Group.objects.filter(state__in=[GroupState.OPEN, GroupState.LOST], stale_since=None).order_by("pk")
        page = found.filter(pk__gt=after) if after else found
        locked = page.select_for_update(of=("self",), skip_locked=True)
        rows = list(locked.select_related("owner", "tool_version")[:GO])
        stale = [row for row in rows if _since(row) <= now]
        for row in stale:
            row.stale_since = _since(row)
        Group.objects.bulk_update(stale, ["stale_since"])
        if stale:
            log.append([_entry_of_group(row, by=by) for row in stale], now=now)
        notify([(row, None, "stale") for row in stale], now=now)
    return len(stale), rows[-1].pk if len(rows) == GO else None


def _since(group: Group) -> datetime:
    version = group.tool_version
    return group.opened_at + threshold(Contract.from_json(version.contract) if version else None, None)


def _entry_of_request(row: Request, *, by: Actor) -> log.Entry:
    effect = row.effect
    data = {
        "what": "request",
        "key": str(row.pk),
        "state": row.state,
        "system": row.target.name,
        **_times(row.state_at, row.stale_since),
    }
    return _entry((effect.type, effect.object_id), effect.group, data, by=by)


def _entry_of_group(row: Group, *, by: Actor) -> log.Entry:
    data = {
        "what": "call",
        "key": str(row.pk),
        "state": row.state,
        "system": "",
        **_times(row.opened_at, row.stale_since),
    }
    return _entry(("group", str(row.pk)), row, data, by=by)


def _times(since: datetime, stale: datetime | None) -> dict[str, str]:
    return {"unchanged_since": since.isoformat(), "stale_since": stale.isoformat() if stale else ""}


def _entry(target: tuple[str, str], group: Group, data: dict[str, str], *, by: Actor) -> log.Entry:
    return log.Entry("went_stale", target, by.party, party_of(group.owner), data, group=str(group.pk))
