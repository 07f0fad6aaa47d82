"""Who becomes admin or auditor, and who stops being it?"""

from datetime import datetime
from typing import Any

from django.db import transaction

from audit import log
from sideeffects.actors import ADMIN, Actor
from sideeffects.models import Role


class RolesNotYoursToGiveError(Exception):
    """Only an admin, or the system on its own machine, gives and takes roles."""

    def __init__(self) -> None:
        super().__init__("Only an admin gives and takes roles.")


class UnknownRoleError(Exception):
    """There is no such role."""

    def __init__(self, role: str) -> None:
        self.role = role
        super().__init__(f"There is no role {role}; there are {', '.join(Role.Name.values)}.")


class RoleUnchangedError(Exception):
    """The person holds the role already, or does not hold it."""

    def __init__(self, user: Any, role: str, *, held: bool) -> None:
        self.user, self.role = user.get_username(), role
        super().__init__(f"{self.user} {'already holds' if held else 'does not hold'} the role {role}.")


class LastAdminError(Exception):
    """Without this person nobody could give a role any more."""

    def __init__(self, user: Any) -> None:
        self.user = user.get_username()
        super().__init__(f"{self.user} is the last admin. Make someone else admin first.")


def grant(*, user: Any, role: str, by: Actor, now: datetime) -> Role:
    """Give a person a role; writes role_granted.

    Raises UnknownRoleError, RolesNotYoursToGiveError, RoleUnchangedError.
    """
    with transaction.atomic():
        _check(role, _locked_admins(), by)
        row, is_new = Role.objects.get_or_create(
            user=user, role=role, defaults={"granted_at": now, "granted_by": str(by.party)}
        )
        if not is_new:
            raise RoleUnchangedError(user, role, held=True)
        log.append([_entry(action="role_granted", user=user, role=role, by=by)], now=now)
    return row


def withdraw(*, user: Any, role: str, by: Actor, now: datetime) -> None:
    """Take a role from a person; writes role_withdrawn. The last admin stays.

    Raises UnknownRoleError, RolesNotYoursToGiveError, RoleUnchangedError, LastAdminError.
    """
    with transaction.atomic():
        admins = _locked_admins()
        _check(role, admins, by)
        row = Role.objects.select_for_update().filter(user=user, role=role).first()
        if row is None:
            raise RoleUnchangedError(user, role, held=False)
        if role == ADMIN and admins <= {user.pk}:
            raise LastAdminError(user)
        row.delete()
        log.append([_entry(action="role_withdrawn", user=user, role=role, by=by)], now=now)


def _locked_admins() -> set[Any]:
    """Return whose account is open and who is admin, locked: two admins cannot dismiss each other at once."""
    rows = Role.objects.select_for_update(of=("self",)).filter(role=ADMIN, user__is_active=True).order_by("pk")
    return set(rows.values_list("user_id", flat=True))


def _check(role: str, admins: set[Any], by: Actor) -> None:
    if role not in Role.Name.values:
        raise UnknownRoleError(role)
    if not (by.system or (by.is_person and by.user.pk in admins)):
        raise RolesNotYoursToGiveError


def _entry(*, action: str, user: Any, role: str, by: Actor) -> log.Entry:
    target = ("user", str(user.pk))
    return log.Entry(action=action, target=target, actor=by.party, owner=None, data={"role": role})
