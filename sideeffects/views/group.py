"""What is known of one action, and what would taking it back or restoring it come to?"""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from sideeffects import dossiers, members, proofs, questions
from sideeffects.actors import ActorRequest
from sideeffects.forms import MembersForm, ReasonForm, read
from sideeffects.presenters import GroupView
from sideeffects.services import clashes
from sideeffects.services.answers import Answer
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore as restore_groups
from sideeffects.services.revoke import revoke as revoke_groups


def page(request: ActorRequest, group: UUID) -> HttpResponse:
    """Show one action: members, states, story, conflicts, evidence, and what its last revoke came to."""
    asked = read(MembersForm(request.GET), request)
    view = dossiers.find(group, by=request.actor)
    context = {"dossier": dossiers.Dossier(view, asked["members"] or 0), "view": view}
    return render(request, "sideeffects/group.html", context)


def revoke(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask before a revoke; a POST does it and leads to its outcome."""
    view = dossiers.find(group, by=request.actor)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        now, reason = timezone.now(), form.cleaned_data["reason"]  # noqa: TID251  (a face)
        results = revoke_groups(groups=[group], by=request.actor, now=now, reason=reason, trigger=Trigger.CLICK)
        return _outcome(request, results[0].unwrap())
    question = questions.before_revoke(view, now=timezone.now())  # noqa: TID251  (a face)
    return _ask(request, "sideeffects/revoke.html", view, question, form)


def restore(request: ActorRequest, group: UUID) -> HttpResponse:
    """Ask before a restore; a POST does it and leads to its outcome."""
    view = dossiers.find(group, by=request.actor)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        now, reason = timezone.now(), form.cleaned_data["reason"]  # noqa: TID251  (a face)
        results = restore_groups(groups=[group], by=request.actor, now=now, reason=reason)
        return _outcome(request, results[0].unwrap())
    question = questions.before_restore(view, clashes.before(view.group))
    return _ask(request, "sideeffects/restore.html", view, question, form)


def _ask(
    request: ActorRequest, template: str, view: GroupView, question: questions.Question, form: ReasonForm
) -> HttpResponse:
    listed = members.of(view.group, size=20)
    proof = proofs.of_group(view.group)
    context = {"view": view, "question": question, "form": form, "listed": listed, "proof": proof}
    return render(request, template, context, status=422 if form.errors else 200)


def _outcome(request: ActorRequest, answer: Answer) -> HttpResponse:
    """Lead to the page that shows, from the rows, what has become of each member."""
    if answer.already:
        messages.info(request, _("Nothing was left to do, so nothing was changed. This is how it stands."))
    return redirect("group", group=answer.group.pk)
