"""What do the forms of plans accept?"""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from plans.core.artifact import MAX_BYTES
from plans.core.verdict import PROFILES


class PlanForm(forms.Form):
    """A plan, pasted or as a file."""

    text = forms.CharField(
        label=_("Plan"),
        required=False,
        strip=False,
        max_length=MAX_BYTES,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "code"}),
        help_text=_("JSON, as the published schema says."),
    )
    file = forms.FileField(label=_("Or a file"), required=False, allow_empty_file=True)
    profile = forms.ChoiceField(
        label=_("How strictly"),
        choices=[("default", _("Rules refuse, warnings are told")), ("strict", _("Warnings refuse, too"))],
        initial="default",
        required=False,
    )

    def clean(self) -> dict[str, Any]:
        """Ask for exactly one of text and file."""
        data = super().clean() or {}
        text, file = data.get("text"), data.get("file")
        if bool(text) == (file is not None) and not self.errors:
            raise forms.ValidationError(_("Paste a plan or choose a file, one of the two."))
        return data

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for. A browser sends pasted line ends as two characters: one is kept."""
        text, file = self.cleaned_data["text"], self.cleaned_data["file"]
        body = file.read(MAX_BYTES + 1) if file is not None else text.replace("\r\n", "\n").encode()
        return {"body": body, "profile": self.cleaned_data["profile"] or PROFILES[0]}


class ReasonForm(forms.Form):
    """Why, in a few words: needed for acting on what is another's."""

    reason = forms.CharField(
        label=_("Reason"), max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, data: Any = None, *, required: bool = False) -> None:
        super().__init__(data)
        self.fields["reason"].required = required
        if not required:
            self.fields["reason"].label = _("Reason (you may leave it out)")


class DecideForm(ReasonForm):
    """A decision, and what the person had before them."""

    verdict = forms.ChoiceField(choices=[("approve", ""), ("decline", "")])
    approval = forms.UUIDField()
    digest = forms.CharField(max_length=64)
    sha256 = forms.CharField(max_length=64)

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for."""
        return {name: self.cleaned_data[name] for name in ("reason", "approval", "digest", "sha256")}


class ExecutionListForm(forms.Form):
    """Where in the list of executions, and of which plan."""

    before = forms.UUIDField(required=False)
    plan = forms.UUIDField(required=False)

    def asked(self) -> dict[str, Any]:
        """Return what the query is asked for."""
        return {"before": self.cleaned_data["before"], "plan": self.cleaned_data["plan"]}


class PlanListForm(forms.Form):
    """Which plans, and where in their list."""

    verdict = forms.ChoiceField(
        label=_("Verdict"),
        choices=[("", _("Any")), ("accepted", _("Accepted")), ("refused", _("Refused"))],
        required=False,
    )
    before = forms.UUIDField(required=False)

    def asked(self) -> dict[str, Any]:
        """Return what the query is asked for."""
        verdict = self.cleaned_data["verdict"]
        return {"before": self.cleaned_data["before"], "accepted": verdict == "accepted" if verdict else None}
