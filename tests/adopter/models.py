"""Which rows does the help desk keep? People known by mail, and tickets that it archives in its own way."""

from typing import Any, ClassVar
from uuid import uuid4

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from simple_history.models import HistoricalRecords


class Members(BaseUserManager["Member"]):
    """Makes members."""

    def create_superuser(self, mail: str, password: str, **more: Any) -> "Member":
        """Make one who may do everything in Django's admin."""
        member = self.model(mail=self.normalize_email(mail), is_staff=True, is_superuser=True, **more)
        member.set_password(password)
        member.save()
        return member


class Member(AbstractBaseUser, PermissionsMixin):
    """A person; logs in by mail, has a UUID for a key, and no first name."""

    uid = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    mail = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    people = Members()

    USERNAME_FIELD = "mail"
    EMAIL_FIELD = "mail"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.mail


class Ticket(models.Model):
    """Something a customer asked; `live` is the help desk's own way of deleting, `Change` its own history."""

    code = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    handler = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="tickets")
    subject = models.CharField(max_length=100)
    priority = models.PositiveSmallIntegerField(default=3)
    live = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.subject


class Change(models.Model):
    """One version of a ticket: what it was from this moment on."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField()
    why = models.CharField(max_length=300, blank=True)
    subject = models.CharField(max_length=100)
    priority = models.PositiveSmallIntegerField()
    live = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.subject} at {self.at}"


class Reply(models.Model):
    """What was answered to a ticket; its versions are django-simple-history's."""

    code = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    handler = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, related_name="replies")
    text = models.TextField()
    hidden = models.BooleanField(default=False)
    history = HistoricalRecords()

    def __str__(self) -> str:
        return self.text[:40]
