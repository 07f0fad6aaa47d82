"""What do the forms of the pages accept?"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from audit.inert import shows_nothing, visible
from sideeffects import dependants, people
from sideeffects.actors import SCOPES
from sideeffects.models import Declaration, Role
from sideeffects.requested import Asking
from sideeffects.services.attest import Reason
from sideeffects.services.foresight import Along, Sight

LONGEST_DAYS = 3650
LONGEST_NAME = 254  # of a person, where people log in by their mail address


class TokenForm(forms.Form):
    """A new token: which agent acts for whom, what it may, how long."""

    agent = forms.CharField(label=_("Agent"), max_length=100, help_text=_("Its name; a new name registers an agent."))
    owner = forms.CharField(label=_("Acts for"), max_length=LONGEST_NAME, help_text=_("Name of the person."))
    name = forms.CharField(label=_("What it is for"), max_length=100, required=False)
    scopes = forms.MultipleChoiceField(
        label=_("It may"), choices=[(scope, scope) for scope in SCOPES], widget=forms.CheckboxSelectMultiple
    )
    days = forms.IntegerField(
        label=_("For how many days"),
        min_value=1,
        max_value=LONGEST_DAYS,
        initial=90,
        required=False,
        help_text=_("Left empty, it does not expire."),
    )

    def clean_owner(self) -> Any:
        """Return the person of that name."""
        person = people.named(self.cleaned_data["owner"])
        if person is None or not person.is_active:
            raise forms.ValidationError(_("There is no such person."))
        return person

    def asked(self, *, now: datetime) -> dict[str, Any]:
        """Return what the service is asked for."""
        asked = {key: self.cleaned_data[key] for key in ("agent", "owner", "name", "scopes")}
        days = self.cleaned_data["days"]
        return asked | {"expires_at": now + timedelta(days=days) if days else None}


class RoleForm(forms.Form):
    """A role to give or to take."""

    person = forms.ModelChoiceField(queryset=get_user_model()._default_manager.all())
    role = forms.ChoiceField(choices=Role.Name.choices)
    do = forms.ChoiceField(choices=[("grant", "grant"), ("withdraw", "withdraw")])


class TokenListForm(forms.Form):
    """Where in a list of tokens."""

    before = forms.UUIDField(required=False)


class PeopleListForm(forms.Form):
    """Which people, and where in their list."""

    q = forms.CharField(label=_("Search"), max_length=LONGEST_NAME, required=False)
    before = forms.CharField(required=False)

    def clean_before(self) -> Any:
        """Return a key as the user model has them: a number, a UUID or whatever it is."""
        said = self.cleaned_data["before"]
        key = get_user_model()._meta.pk.clean(said, None) if said else None
        if isinstance(key, int) and key < 1:
            raise forms.ValidationError(_("This is no place in this list."))
        return key


class ReasonForm(forms.Form):
    """Why something is taken back or restored; required where it is another's."""

    reason = forms.CharField(max_length=1000, strip=True, widget=forms.Textarea(attrs={"rows": 2}), required=False)

    def __init__(self, *args: Any, required: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["reason"]
        field.required = required
        field.label = _("Reason") if required else _("Reason, if you like")
        field.error_messages["required"] = _("This belongs to someone else: say why, in a few words.")
        field.help_text = (
            _("It belongs to someone else, so a reason is needed. It stands on the log under your name.")
            if required
            else _("It stands on the log.")
        )

    def clean_reason(self) -> str:
        """Return the reason; one that a reader would see nothing of is none."""
        reason: str = self.cleaned_data["reason"]
        if self.fields["reason"].required and shows_nothing(reason):
            raise forms.ValidationError(self.fields["reason"].error_messages["required"], code="required")
        return reason


class RevokeForm(ReasonForm):
    """Why an action is taken back, over what, and what becomes of the later ones that build on it."""

    later = forms.ChoiceField(
        label=_("Later actions built on this one"),
        widget=forms.RadioSelect,
        error_messages={"required": _("Later actions built on this one: choose what becomes of them.")},
    )
    override = forms.BooleanField(required=False)
    seen = forms.CharField(max_length=64, required=False)

    def __init__(self, *args: Any, sight: Sight, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not sight.along:
            del self.fields["later"]
            return
        field: Any = self.fields["later"]
        alone = [("leave", _("Take back this one only; they stay as they are"))] if sight.alone else []
        field.choices = [("include", _include(sight.along)), *alone]

    def asked(self, group: UUID) -> dict[str, Any]:
        """Return what the service is asked for."""
        later, seen = self.cleaned_data.get("later"), self.cleaned_data["seen"]
        return {
            "groups": dependants.closure([group]) if later == "include" else [group],
            "reason": self.cleaned_data["reason"],
            "overrides": {group: seen} if self.cleaned_data["override"] else {},
            "leave_later": later == "leave",
        }


def _include(along: Along) -> str:
    """Say how much more goes where later actions are taken back too."""
    actions = ngettext("{n} later action", "{n} later actions", along.actions).format(n=along.actions)
    objects = ngettext("{n} more object", "{n} more objects", along.objects).format(n=along.objects)
    return gettext("Take these back too, the newest first: {objects} in {actions}").format(
        objects=objects, actions=actions
    )


class _PickForm(forms.Form):
    """Which requests of one action are decided about; all of them unless an address names some."""

    requests = forms.TypedMultipleChoiceField(
        label=_("About"),
        coerce=UUID,
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose at least one."),
            "invalid_choice": _("One of these has moved on since the page was opened. Look again."),
        },
    )

    def __init__(self, *args: Any, askings: Sequence[Asking], named: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(str(one.row.pk), _line(one)) for one in askings]
        field: Any = self.fields["requests"]
        field.choices = choices
        known = [key for key, _label in choices if key in named]
        field.initial = known or [key for key, _label in choices]


def _line(asking: Asking) -> str:
    effect = asking.row.effect
    return visible(f"{effect.type} {effect.object_id} ({asking.row.target.name}): {asking.words.render(gettext)}")


class AgainForm(_PickForm, ReasonForm):
    """What is asked again, and why."""

    field_order = ("requests", "reason")


class AttestForm(_PickForm):
    """What a person holds for undone on their own word, and what that rests on."""

    reason = forms.ChoiceField(
        label=_("How do you know?"),
        widget=forms.RadioSelect,
        choices=[
            (Reason.SEEN.value, _("I looked it up in the target")),
            (Reason.TOLD.value, _("Whoever runs the target told me")),
            (Reason.BY_HAND.value, _("I undid it in the target by hand")),
            (Reason.OTHER.value, _("In another way")),
        ],
    )
    evidence = forms.CharField(
        label=_("Evidence"),
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("What you saw, when, or who said it. It stands on the log under your name, as your word."),
    )


class ResolveForm(forms.Form):
    """How a person decides about a difference, and why."""

    action = forms.ChoiceField(choices=Declaration.Resolution.choices)
    reason = forms.CharField(max_length=1000, strip=True, required=False)


class ShelvesForm(forms.Form):
    """Where in the lists of the workspace."""

    projects = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    notes = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)


class MembersForm(forms.Form):
    """Where in a list of members."""

    members = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)


def read(form: forms.Form, request: HttpRequest) -> dict[str, Any]:
    """Return what a form that no person fills in says; nonsense in it is a bad request, which names the members."""
    if not form.is_valid():
        verb = gettext("This form says") if request.method == "POST" else gettext("This address says")
        text = gettext("{verb} something that cannot be meant here: {names}.")
        raise BadRequest(text.format(verb=verb, names=", ".join(form.errors)))
    return form.cleaned_data
