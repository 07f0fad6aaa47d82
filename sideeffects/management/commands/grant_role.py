"""Who makes the first admin? Whoever may run commands on this machine."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from audit import log
from sideeffects import actors, people
from sideeffects.models import Role
from sideeffects.services import roles


class Command(BaseCommand):
    """Gives a person a role."""

    help = "Give a person the role admin or auditor (or take it with --withdraw)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read whom, which role, and whether to take it."""
        parser.add_argument("--user", required=True, help="name of the person")
        parser.add_argument("--role", required=True, choices=Role.Name.values)
        parser.add_argument("--withdraw", action="store_true", help="take the role instead of giving it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do it, in the name of the command line."""
        user = people.named(options["user"])
        if user is None:
            raise CommandError(f"There is no person called {options['user']}.")
        change = roles.withdraw if options["withdraw"] else roles.grant
        try:
            change(user=user, role=options["role"], by=actors.system("command"), now=timezone.now())  # noqa: TID251  (a face)
        except (roles.RoleUnchangedError, roles.LastAdminError) as error:
            raise CommandError(str(error)) from None
        log.seal()
        self.stdout.write(f"{user} {'no longer holds' if options['withdraw'] else 'holds'} the role {options['role']}.")
