"""What does a person ask of a call that has not landed: to be revoked when it arrives, or no longer?"""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from sideeffects import dossiers
from sideeffects.actors import ActorRequest
from sideeffects.forms import ReasonForm
from sideeffects.services import fence


def put(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask before a call is fenced; a POST fences it and leads back to the action."""
    view = dossiers.find(group, by=request.actor)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        fence.put(group=group, by=request.actor, now=timezone.now(), **form.cleaned_data)  # noqa: TID251  (a face)
        messages.info(request, _("It will be revoked when it arrives; until then nothing is."))
        return redirect("group", group=group)
    context = {"view": view, "form": form}
    return render(request, "sideeffects/fence.html", context, status=422 if form.errors else 200)


def lift(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask before a fence is lifted; a POST lifts it and leads back to the action."""
    view = dossiers.find(group, by=request.actor)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        fence.lift(group=group, by=request.actor, now=timezone.now(), **form.cleaned_data)  # noqa: TID251  (a face)
        messages.info(request, _("The fence is lifted: what arrives stays."))
        return redirect("group", group=group)
    context = {"view": view, "form": form, "lifting": True}
    return render(request, "sideeffects/fence.html", context, status=422 if form.errors else 200)
