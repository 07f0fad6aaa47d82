"""What do the forms of the batch pages accept? Which actions, why, and as they were seen."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.utils.translation import gettext_lazy as _

from sideeffects.actors import Actor
from sideeffects.batches import Preview, Scope
from sideeffects.declarations import fingerprint
from sideeffects.forms import ReasonForm
from sideeffects.models import Revocation
from sideeffects.transitions import Outcome

LONGEST = 200  # as the columns are
MOST_GROUPS = 1000  # named one by one in an address
EARLIEST, LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _text(label: Any) -> forms.CharField:
    return forms.CharField(label=label, max_length=LONGEST, required=False, strip=False)


class MomentField(forms.DateTimeField):
    """A moment, in the reader's zone unless it names one."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M:%S")

    def clean(self, value: Any) -> datetime | None:
        """Return the moment; raises ValidationError for one that no database can hold."""
        moment: datetime | None = super().clean(value)
        if moment is not None and not EARLIEST <= moment <= LATEST:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return moment


class GroupsField(forms.MultipleChoiceField):
    """Actions named one by one."""

    widget = forms.MultipleHiddenInput

    def validate(self, value: Any) -> None:
        """Let any number up to the bound through; each is looked at below."""
        if len(value) > MOST_GROUPS:
            raise forms.ValidationError(
                _("At most %(most)s actions can be named one by one."), params={"most": MOST_GROUPS}
            )

    def clean(self, value: Any) -> list[UUID]:
        """Return the ids, each once; raises ValidationError."""
        said = super().clean(value)
        try:
            return list(dict.fromkeys(UUID(one) for one in said))
        except ValueError:
            raise forms.ValidationError(_("This names no action."), code="invalid") from None


class ScopeForm(forms.Form):
    """Which actions are meant: everything that is said has to hold."""

    conversation = _text(_("Conversation"))
    run = _text(_("Run"))
    execution = _text(_("Execution"))
    tool = _text(_("Tool"))
    agent = _text(_("Agent"))
    owner = _text(_("Owner"))
    since = MomentField(label=_("From"), required=False)
    until = MomentField(label=_("Before"), required=False)
    groups = GroupsField(label=_("Actions"), required=False)

    def __init__(self, data: Any, *, by: Actor) -> None:
        super().__init__(data)
        self.by = by

    def clean_owner(self) -> str:
        """Return whose actions are meant, where an admin says so; raises ValidationError."""
        owner: str = self.cleaned_data["owner"]
        if owner and not self.by.is_admin:
            if owner != self.by.user.get_username():
                raise forms.ValidationError(_("Only an admin takes back what is another's."))
            return ""
        return owner

    def asked(self) -> Scope:
        """Return what is meant; raises EmptyScopeError where nothing is."""
        said = dict(self.cleaned_data)
        return Scope(**{**said, "groups": tuple(said["groups"])})

    @property
    def says_something(self) -> bool:
        """Say whether the address names anything at all."""
        return any(self.data.get(name) for name in self.fields)


class StartForm(ReasonForm):
    """The yes to a batch: what was seen of it, and a key that makes two clicks one batch."""

    later = forms.BooleanField(
        required=False,
        label=_("Take back as well what later actions outside of this build on; those stay as they are"),
    )
    seen = forms.CharField(max_length=LONGEST, required=False)
    key = forms.UUIDField()

    def __init__(self, data: Any = None, *, preview: Preview) -> None:
        super().__init__(data, required=preview.needs_reason, initial={"key": uuid4()})
        self.preview = preview

    def clean_seen(self) -> str:
        """Return what was seen; raises ValidationError where that is not what there is any more."""
        seen: str = self.cleaned_data["seen"]
        if seen != self.preview.seen:
            raise forms.ValidationError(
                _("The selection has changed since you looked. These are its numbers now; confirm them if you mean it.")
            )
        return seen

    def asked(self, scope: Scope) -> dict[str, Any]:
        """Return what the service is asked for."""
        said = self.cleaned_data
        asked = {"scope": scope.as_json(), "leave_later": said["later"]}
        return {
            "scope": scope,
            "reason": said["reason"],
            "seen": said["seen"],
            "leave_later": said["later"],
            "key": f"page {said['key']}",
            "fingerprint": fingerprint(tool="batches", arguments=asked),
            "via": Revocation.Trigger.CLICK,
        }


class ItemsForm(forms.Form):
    """Where in the list of a batch's actions, and of which outcome."""

    outcome = forms.ChoiceField(choices=[(item.value, item.value) for item in Outcome], required=False)
    after = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
