"""What does a person decide about what was asked of targets: ask again, or vouch for it?"""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import ngettext

from sideeffects import dossiers, requested
from sideeffects.actors import ActorRequest
from sideeffects.forms import AgainForm, AttestForm
from sideeffects.services.again import again as ask_again
from sideeffects.services.attest import attest as hold_for_undone


def again(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask before targets are asked once more; a POST has them asked and leads back to the action."""
    view, now = dossiers.find(group, by=request.actor), timezone.now()  # noqa: TID251  (a face)
    askings = requested.retryable(view.group, by=request.actor, now=now)
    sent, named = request.POST if request.method == "POST" else None, request.GET.getlist("request")
    form = AgainForm(sent, askings=askings, named=named, required=view.needs_reason)
    if form.is_valid():
        asked = ask_again(**form.cleaned_data, by=request.actor, now=now)
        words = ngettext("{n} is asked again; no answer yet.", "{n} are asked again; no answer yet.", len(asked))
        messages.info(request, words.format(n=len(asked)))
        return redirect("group", group=group)
    context = {"view": view, "form": form, "askings": askings}
    return render(request, "sideeffects/again.html", context, status=422 if form.errors else 200)


def attest(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask for a person's word and what it rests on; a POST takes it and leads back to the action."""
    view = dossiers.find(group, by=request.actor)
    askings = requested.attestable(view.group, by=request.actor)
    sent, named = request.POST if request.method == "POST" else None, request.GET.getlist("request")
    form = AttestForm(sent, askings=askings, named=named)
    if form.is_valid():
        held = hold_for_undone(**form.cleaned_data, by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
        words = ngettext("{n} is held for undone on your word.", "{n} are held for undone on your word.", len(held))
        messages.info(request, words.format(n=len(held)))
        return redirect("group", group=group)
    context = {"view": view, "form": form, "askings": askings}
    return render(request, "sideeffects/attest.html", context, status=422 if form.errors else 200)
