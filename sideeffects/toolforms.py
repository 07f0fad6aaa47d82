"""What does an admin declare of a tool that agents run elsewhere? The form, which names each member it cannot mean."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from audit.inert import visible
from sideeffects import policies, queries
from sideeffects.compensations import BadCompensationError, check_path, compensation
from sideeffects.models import ToolVersion
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transitions import Operation, RevokeClass

LONGEST = 1000
MOST_MINUTES = 527_040  # a year
_EXTERNAL, _NONE = RevokeClass.EXTERNAL.value, RevokeClass.NONE.value
_HELP = {
    Operation.CREATE: _("For example DELETE /contacts/{id}. Left empty, what it creates cannot come back."),
    Operation.UPDATE: _('For example POST /contacts/{id}/revert {"version": "{version}"}.'),
    Operation.DELETE: _("For example POST /contacts/{id}/undelete."),
}


def _minutes(label: Any, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, help_text=help_text, min_value=1, max_value=MOST_MINUTES, required=False)


class ToolForm(forms.Form):
    """The declaration of one tool; `row` is the version in force, None where a new tool is declared."""

    name = forms.CharField(
        label=_("Name"), max_length=200, help_text=_("As agents report it, for example crm.create_contact.")
    )
    revoke_class = forms.ChoiceField(
        label=_("How far can a revoke get?"),
        widget=forms.RadioSelect,
        choices=[
            (_EXTERNAL, _("Its target is asked to undo it, and decides")),
            (_NONE, _("It cannot come back")),
        ],
    )
    reason = forms.CharField(
        label=_("Why it cannot come back"), max_length=500, required=False, help_text=_("Shown instead of a button.")
    )
    target = forms.CharField(
        label=_("Target"), max_length=100, required=False, help_text=_("The system that holds what it writes, by name.")
    )
    create = forms.CharField(label=_("What undoes a create"), max_length=LONGEST, required=False)
    update = forms.CharField(label=_("What undoes an update"), max_length=LONGEST, required=False)
    delete = forms.CharField(label=_("What undoes a delete"), max_length=LONGEST, required=False)
    status_path = forms.CharField(
        label=_("Where an object can be read"),
        max_length=LONGEST,
        required=False,
        help_text=_("A path such as /contacts/{id}: asked how a request ended. Left empty, only its answers tell."),
    )
    title = forms.CharField(
        label=_("Title of a call"), max_length=300, required=False, help_text=_("For example Contact {arguments.name}.")
    )
    stale_minutes = _minutes(_("Stale after how many minutes"), _("Left empty: as its target or the console says."))
    undo_minutes = _minutes(
        _("Undo window in minutes"), _("From the landing on, where a call declares none. Left empty: unknown.")
    )
    blocked = forms.BooleanField(label=_("Blocked: refuse its calls before anything happens"), required=False)
    human = forms.BooleanField(
        label=_("A person decides: a step of a plan with this tool waits for one"), required=False
    )

    def __init__(self, data: Any = None, *, row: ToolVersion | None) -> None:
        self.row = row
        super().__init__(data, initial=_initial(row))
        for operation, text in _HELP.items():
            self.fields[operation.value].help_text = text
        if row is not None:
            del self.fields["name"]

    def clean_name(self) -> str:
        """Return a name under which no tool is declared yet."""
        name = str(self.cleaned_data["name"])
        if name in REGISTRY:
            raise forms.ValidationError(_("The program that runs here declares this tool; change it there."))
        if visible(name) != name or name.startswith("/") or name.endswith("/") or "//" in name or name == "new":
            raise forms.ValidationError(_("Such a name cannot be told apart from others."))
        if queries.tools().filter(tool__name=name).exists():
            raise forms.ValidationError(_("A tool of this name is declared already; change it on its page."))
        return name

    def clean_target(self) -> str:
        """Return a target's name."""
        name = str(self.cleaned_data["target"])
        if "/" in name:
            raise forms.ValidationError(_("A name holds no slash."))
        return name

    def _compensation(self, operation: Operation) -> str:
        declared = str(self.cleaned_data[operation.value])
        if declared:
            try:
                compensation(declared)
            except BadCompensationError as error:
                raise forms.ValidationError(str(error)) from None
        return declared

    def clean_create(self) -> str:
        """Return what can be asked of a target, or nothing."""
        return self._compensation(Operation.CREATE)

    def clean_update(self) -> str:
        """Return what can be asked of a target, or nothing."""
        return self._compensation(Operation.UPDATE)

    def clean_delete(self) -> str:
        """Return what can be asked of a target, or nothing."""
        return self._compensation(Operation.DELETE)

    def clean_status_path(self) -> str:
        """Return a path below the target's address, or nothing."""
        path = str(self.cleaned_data["status_path"])
        try:
            if path:
                check_path(path)
        except BadCompensationError as error:
            raise forms.ValidationError(str(error)) from None
        return path

    def clean(self) -> dict[str, Any]:
        """Ask for what its class needs: a reason, or a target and a way back."""
        given = super().clean() or self.cleaned_data
        if given.get("revoke_class") == _NONE and not given.get("reason"):
            self.add_error("reason", _("Say why, since it is shown instead of a button."))
        if given.get("revoke_class") == _EXTERNAL:
            if not given.get("target") and "target" not in self.errors:
                self.add_error("target", _("Name the system that is asked."))
            named = [item.value for item in Operation]
            if not any(given.get(name) or name in self.errors for name in named):
                self.add_error("create", _("Say for at least one operation what undoes it."))
        return given

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for."""
        given = self.cleaned_data
        external = given["revoke_class"] == _EXTERNAL
        ways = {item.value: given[item.value] for item in Operation if given[item.value]}
        contract = Contract(
            revoke_class=RevokeClass(given["revoke_class"]),
            reason="" if external else given["reason"],
            target=given["target"],
            compensations=ways if external else {},
            title=given["title"],
            blocked=given["blocked"],
            status=given["status_path"] if external else "",
            stale_minutes=given["stale_minutes"],
            undo_minutes=given["undo_minutes"],
            human=given["human"],
        )
        return {"tool": self.row.tool.name if self.row else given["name"], "contract": contract}


def _initial(row: ToolVersion | None) -> dict[str, Any]:
    if row is None:
        return {"revoke_class": _EXTERNAL}
    contract = Contract.from_json(row.contract)
    return {**contract.as_json(), **contract.compensations, "status_path": contract.status}


def find(name: str) -> ToolVersion:
    """Return the version in force of a tool that may be declared here; raises NotFoundError."""
    row = queries.tools().filter(tool__name=name).first()
    if row is None or name in REGISTRY:
        raise policies.NotFoundError("tool", name)
    return row
