"""Which systems may be asked, and how? The admin's pages of targets."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from sideeffects import proofs, targetsheets
from sideeffects.actors import ActorRequest
from sideeffects.forms import read
from sideeffects.models import Target
from sideeffects.services import targets
from sideeffects.targetforms import SwitchForm, TargetForm

SWITCHES = {"enable": targets.enable, "disable": targets.disable}


def page(request: ActorRequest) -> HttpResponse:
    """List the targets with their health."""
    return render(request, "sideeffects/console/targets.html", {"targets": proofs.targets()})


@never_cache
def new(request: ActorRequest) -> HttpResponse:
    """Register a target that no tool has named yet."""
    return _settings(request, None)


@never_cache
def change(request: ActorRequest, target: str) -> HttpResponse:
    """Show a target and its settings; a POST registers or changes it, and shows a new secret this once."""
    return _settings(request, targetsheets.find(target))


def _settings(request: ActorRequest, row: Target | None) -> HttpResponse:
    form, secret = TargetForm(request.POST if request.method == "POST" else None, row=row), ""
    if form.is_valid():
        asked = form.asked()
        row = targets.register(**asked, by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
        secret = asked["wanted"].callback_secret
        messages.success(request, _("The settings are kept, and the change is on the log."))
        if not secret:
            return redirect("console-target", target=row.name)
        form = TargetForm(row=row)
    context = {"form": form, "secret": secret, "sheet": targetsheets.Sheet(row) if row else None}
    return render(request, "sideeffects/console/target.html", context, status=422 if form.errors else 200)


def switch(request: ActorRequest, target: str) -> HttpResponse:
    """Have nothing asked of a target, or let requests go again."""
    do = read(SwitchForm(request.POST), request)["do"]
    SWITCHES[do](name=target, by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
    on = _("Requests to it go again.")
    messages.success(request, on if do == "enable" else _("Nothing is asked of it until it is enabled."))
    return redirect("console-target", target=target)


def resume(request: ActorRequest, target: str) -> HttpResponse:
    """Let requests go on that a change had suspended."""
    number = targets.resume(name=target, by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
    words = ngettext("{n} request goes on.", "{n} requests go on.", number)
    messages.success(request, words.format(n=number))
    return redirect("console-target", target=target)
