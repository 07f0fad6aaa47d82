"""Execute a tool of this process: its rows, their record and its landing are one transaction."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.models import Group, ToolVersion
from sideeffects.services import record
from sideeffects.services.declare import version_of
from sideeffects.services.hold import Held
from sideeffects.services.land import Recorded, end, settle
from sideeffects.services.retry import BusyError, retried
from sideeffects.tools import Call, RegisteredTool, RowsNotThereError, ToolRefusesError
from sideeffects.transitions import GroupState

logger = logging.getLogger(__name__)


class ArgumentsError(Exception):
    """The arguments do not fit the tool; `errors` maps members to sentences, as deep as they lie."""

    def __init__(self, errors: Mapping[str, Any]) -> None:
        self.errors = errors
        super().__init__("The arguments do not fit this tool; nothing has happened.")


class InProgressError(Exception):
    """The same call runs at this moment."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__("The same call is in progress; ask again when it has ended.")


class RevokedBeforeError(Exception):
    """A person took this back and has not restored it."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__(
            "A person asked to revoke this and has not restored it. A new Idempotency-Key says that it is meant."
        )


class ToolFailedError(Exception):
    """The tool's function raised; everything it wrote is undone. `why` only where it is this program's own sentence."""

    def __init__(self, tool: str, group: Group, why: str = "") -> None:
        self.tool, self.group, self.why = tool, str(group.pk), why
        said = f" {why}" if why else ""
        super().__init__(f"{tool} failed; nothing was written.{said} The same call may be tried again.")


class LeaseLostError(Exception):
    """The call took longer than its lease, and another try has taken it over."""

    def __init__(self, group: Group) -> None:
        self.group = str(group.pk)
        super().__init__("This try outlived its lease and another has taken over; this one wrote nothing.")


def execute(*, tool: RegisteredTool, call: record.ToolCall, owner: Any, by: Actor, now: datetime) -> Recorded:
    """Run a registered tool once for its key, and land it with what it wrote.

    Raises ScopeMissingError, ArgumentsError, ToolBlockedError, KeyReusedError, InProgressError, RevokedBeforeError,
    ToolFailedError, LeaseLostError. Writes `group_opened`, then `group_landed` or `call_failed`; or `call_refused`.
    """
    policies.check_may_record(by)
    arguments = _checked(tool, call.arguments)
    key = record.key_of(call, owner=owner, by=by, executed=True)
    record.check_let_through(call, executed=True, owner=owner, by=by, now=now)
    version = version_of(call.tool, by=by, now=now)
    record.check_not_blocked(call, version, owner=owner, by=by, now=now)
    try:
        group, mine = _leased(call, key=key, version=version, owner=owner, by=by, now=now)
    except RevokedBeforeError:
        record.log_refused(call, reason="revoked-before", owner=owner, by=by, now=now)
        raise
    if not mine:
        return Recorded("replayed", group)
    return _run(tool, group, arguments, owner=owner, by=by, now=now)


def _checked(tool: RegisteredTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if tool.arguments is None:
        return dict(arguments)
    serializer = tool.arguments(data=arguments)
    unknown = {name: ["This tool has no such argument."] for name in arguments if name not in serializer.fields}
    if not serializer.is_valid() or unknown:
        raise ArgumentsError({**serializer.errors, **unknown})
    return dict(serializer.validated_data)


def _leased(call: record.ToolCall, **arguments: Any) -> tuple[Group, bool]:
    try:
        with transaction.atomic():
            return _lease(call, **arguments)
    except IntegrityError:  # a twin opened it first; this one now finds it
        with transaction.atomic():
            return _lease(call, **arguments)


def _lease(
    call: record.ToolCall, *, key: str, version: ToolVersion | None, owner: Any, by: Actor, now: datetime
) -> tuple[Group, bool]:
    """Return the open group with a lease of this try's own, or the landed one that this call replays."""
    until = now + timedelta(seconds=settings.CALL_LEASE_SECONDS)
    group = next(reversed(record.generations(key, owner=owner)), None)
    if group is None:
        group = record.new_group(
            call,
            key=key,
            version=version,
            source=record.Source.EXECUTED,
            owner=owner,
            by=by,
            now=now,
            lease_until=until,
        )
        record.opened(group, by=by, now=now)
        return group, True
    record.check_same_call(group, call)
    if group.source != record.Source.EXECUTED:
        raise record.KeyReusedError(group)
    if group.state == GroupState.LANDED:
        if group.revocations.filter(restored_at=None).exists():
            raise RevokedBeforeError(group)
        return group, False
    if group.lease_until is not None and group.lease_until > now:
        raise InProgressError(group)
    group.lease_until = until
    group.save(update_fields=["lease_until"])
    return group, True


def _run(
    tool: RegisteredTool, group: Group, arguments: dict[str, Any], *, owner: Any, by: Actor, now: datetime
) -> Recorded:
    try:
        return retried(lambda: _landed(tool, group, dict(arguments), owner=owner, by=by, now=now))
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever a tool raises, nothing of it stays and its text is not trusted)
        logger.error("%s failed with %s", tool.name, type(error).__name__)  # noqa: TRY400  (its text may hold arguments)
        why = str(error) if isinstance(error, (RowsNotThereError, ToolRefusesError, BusyError)) else ""
        with transaction.atomic():
            reason = why or f"{tool.name} raised {type(error).__name__}"
            end(_still_mine(group), "fail", reason=reason, by=by, now=now)
        raise (error if isinstance(error, BusyError) else ToolFailedError(tool.name, group, why)) from None


@transaction.atomic
def _landed(
    tool: RegisteredTool, group: Group, arguments: dict[str, Any], *, owner: Any, by: Actor, now: datetime
) -> Recorded:
    """Run the tool and land what it wrote. The group is locked only then: twins are told at once that it is running."""
    assert tool.function is not None
    held = Held(owner=owner, now=now)
    written = tool.function(arguments, Call(owner=owner, by=str(by.party), now=now, hold=held.hold))
    return settle(_still_mine(group), held.effects(written, group.tool_version), by=by, now=now)


def _still_mine(group: Group) -> Group:
    """Lock the group and return it; raises LeaseLostError where another try has taken it over or ended it."""
    rows = Group.objects.select_for_update(of=("self",)).select_related("owner", "tool_version__target")
    row = rows.get(pk=group.pk)
    if row.state != GroupState.OPEN or row.lease_until != group.lease_until:
        raise LeaseLostError(row)
    return row
