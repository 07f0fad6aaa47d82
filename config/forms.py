"""What does the log-in form accept?"""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

DEMO_MAIL = "@demo.takeback.invalid"  # the mark of a made-up person; `.invalid` can be nobody's address
_LOOPBACK = ("127.", "::1", "::ffff:127.")
_FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP", "HTTP_VIA")


def may_enter(request: HttpRequest) -> bool:
    """Say whether demonstration people may be used: with demo data, from this very machine, through no proxy."""
    address = str(request.META.get("REMOTE_ADDR", ""))
    direct = not any(header in request.META for header in _FORWARDED)
    return bool(settings.DEMO) and direct and address.startswith(_LOOPBACK)


def is_demo(user: Any) -> bool:
    """Say whether the person is made up for the demonstration."""
    return str(getattr(user, mail_field(), "")).endswith(DEMO_MAIL)


def mail_field() -> str:
    """Return what the user model calls the mail address; where it has none, the log-in name holds the mark."""
    model = get_user_model()
    name = model.get_email_field_name()
    return name if name in {field.name for field in model._meta.fields} else model.USERNAME_FIELD


def demo_people() -> QuerySet[Any]:
    """Return the made-up people whose accounts are open."""
    people = get_user_model()._default_manager
    return people.filter(**{f"{mail_field()}__endswith": DEMO_MAIL}, is_active=True)


class LogInForm(AuthenticationForm):
    """Name and password; a made-up person's opens nothing outside the demonstration, in the same words."""

    def confirm_login_allowed(self, user: User) -> None:
        """Refuse closed accounts, and demonstration people from elsewhere."""
        super().confirm_login_allowed(user)
        if is_demo(user) and not (self.request and may_enter(self.request)):
            raise self.get_invalid_login_error()
