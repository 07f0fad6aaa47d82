"""What does an admin say of a target? The form of its settings, which names each member that cannot be meant."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sideeffects.models import Target
from sideeffects.models.tools import IN_FLIGHT
from sideeffects.services import targets
from sideeffects.targets.addresses import HostRefusedError, HostUnknownError, check_url

LONGEST = 500


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


class TargetForm(forms.Form):
    """The settings of one target; `row` is the target as it is, None where a new one is registered."""

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("As tools name it, for example crm.example. It never changes.")
    )
    base_url = forms.CharField(
        label=_("Base address"),
        max_length=LONGEST,
        widget=forms.TextInput(attrs={"inputmode": "url", "placeholder": "https://"}),
        help_text=_(
            "https only; what tools declare is asked below it. A private host is let through only where the "
            "environment of this console excepts its exact host:port."
        ),
    )
    audience = forms.CharField(
        label=_("Audience"),
        max_length=LONGEST,
        help_text=_("Tokens are made out to exactly this; it accepts no other."),
    )
    pointer = forms.CharField(
        label=_("Where an answer says how it stands"),
        max_length=200,
        required=False,
        help_text=_("A JSON pointer, /status for example. Left empty, the body of an answer says nothing."),
    )
    done = forms.CharField(
        label=_("Words for “undone”"), max_length=LONGEST, required=False, help_text=_("Separated by commas.")
    )
    failed = forms.CharField(label=_("Words for “failed”"), max_length=LONGEST, required=False)
    pending = forms.CharField(label=_("Words for “not done yet”"), max_length=LONGEST, required=False)
    max_in_flight = forms.IntegerField(
        label=_("Requests at a time"), min_value=1, max_value=targets.LARGEST_CAP, initial=IN_FLIGHT
    )
    stale_minutes = forms.IntegerField(
        label=_("Stale after how many minutes"), min_value=1, max_value=527_040, required=False
    )
    secret = forms.BooleanField(
        label=_("Make a new callback secret"),
        required=False,
        help_text=_("It is shown once. An earlier one stops being accepted at once."),
    )

    def __init__(self, data: Any = None, *, row: Target | None) -> None:
        self.row = row
        super().__init__(data, initial=_initial(row))
        if row is not None:
            del self.fields["name"]
        default = gettext("Left empty: {minutes}, where its tool says nothing else.")
        self.fields["stale_minutes"].help_text = default.format(minutes=settings.STALE_MINUTES)

    def clean_name(self) -> str:
        """Return a name that no registered target has."""
        name = str(self.cleaned_data["name"])
        if "/" in name:
            raise forms.ValidationError(_("A name holds no slash."))
        if Target.objects.filter(name=name).exclude(registered_at=None).exists():
            raise forms.ValidationError(_("A target of this name is registered already; change it on its page."))
        return name

    def clean_base_url(self) -> str:
        """Return an address that may be called."""
        url = str(self.cleaned_data["base_url"])
        try:
            check_url(url, allowed=settings.TARGET_HOSTS)
        except (HostRefusedError, HostUnknownError) as error:
            raise forms.ValidationError(str(error)) from None
        return url

    def clean_pointer(self) -> str:
        """Return a JSON pointer, or nothing."""
        pointer = str(self.cleaned_data["pointer"])
        if pointer and not pointer.startswith("/"):
            raise forms.ValidationError(_("A JSON pointer begins with a slash: /status."))
        return pointer

    def clean(self) -> dict[str, Any]:
        """Let no words stand without the place where they would be read."""
        given = super().clean() or self.cleaned_data
        worded = any(given.get(name) for name in ("done", "failed", "pending"))
        if worded and not given.get("pointer") and "pointer" not in self.errors:
            self.add_error("pointer", _("Say where in an answer these words stand."))
        return given

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for; a secret is made here and lives on in its answer only."""
        given = self.cleaned_data
        lists = {name: _words(given[name]) for name in ("done", "failed", "pending")}
        wanted = targets.Settings(
            base_url=given["base_url"],
            audience=given["audience"],
            mapping={"pointer": given["pointer"], **lists} if given["pointer"] else {},
            callback_secret=targets.new_secret() if given["secret"] else "",
            stale_minutes=given["stale_minutes"],
            max_in_flight=given["max_in_flight"],
        )
        return {"name": self.row.name if self.row else given["name"], "wanted": wanted}


def _initial(row: Target | None) -> dict[str, Any]:
    known = row is not None and row.is_askable
    mapping: dict[str, Any] = row.mapping if row is not None and known else targets.MAPPING
    lists = {name: ", ".join(mapping.get(name, [])) for name in ("done", "failed", "pending")}
    kept = {"pointer": mapping.get("pointer", ""), "secret": not known, **lists}
    if row is None:
        return kept
    named = {"base_url": row.base_url, "audience": row.audience}
    return {**kept, **named, "stale_minutes": row.stale_minutes, "max_in_flight": row.max_in_flight}


class SwitchForm(forms.Form):
    """Whether a target is asked anything from now on."""

    do = forms.ChoiceField(choices=[("enable", "enable"), ("disable", "disable")])
