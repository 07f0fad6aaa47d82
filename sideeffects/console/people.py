"""Who holds which role? The admin's page of people."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from audit.inert import visible
from sideeffects import people
from sideeffects.actors import ActorRequest
from sideeffects.forms import PeopleListForm, RoleForm, read
from sideeffects.models import Role
from sideeffects.services import roles

CHANGES = {"grant": roles.grant, "withdraw": roles.withdraw}


def page(request: ActorRequest) -> HttpResponse:
    """List people; a POST gives or takes one role."""
    if request.method == "POST":
        return _change(request)
    asked = read(PeopleListForm(request.GET), request)
    found = people.everyone(search=asked["q"], before=asked["before"])
    context = {"found": found, "q": asked["q"], "roles": Role.Name.values}
    return render(request, "sideeffects/console/people.html", context)


def _change(request: ActorRequest) -> HttpResponse:
    asked = read(RoleForm(request.POST), request)
    change = CHANGES[asked["do"]]
    change(user=asked["person"], role=asked["role"], by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
    said = _("{name} is now {role}.") if asked["do"] == "grant" else _("{name} is no longer {role}.")
    messages.success(request, said.format(name=visible(asked["person"].get_username()), role=asked["role"]))
    return redirect("console-people")
