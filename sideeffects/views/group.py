"""What is known of one action, and what would taking it back or restoring it come to?"""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from sideeffects import dossiers, members, proofs, questions
from sideeffects.actors import ActorRequest
from sideeffects.forms import MembersForm, ReasonForm, RevokeForm, read
from sideeffects.presenters import GroupView
from sideeffects.services import clashes, foresight, since
from sideeffects.services.answers import Answer, Result
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
    now = timezone.now()  # noqa: TID251  (a face)
    sight = foresight.before(view.group, by=request.actor, now=now)
    form = RevokeForm(request.POST if request.method == "POST" else None, required=view.needs_reason, sight=sight)
    if form.is_valid():
        results = revoke_groups(by=request.actor, now=now, trigger=Trigger.CLICK, **form.asked(group))
        return _revoked(request, view, results)
    return _ask(request, "sideeffects/revoke.html", view, questions.before_revoke(view, now=now), form, sight=sight)


def _revoked(request: ActorRequest, view: GroupView, results: Sequence[Result]) -> HttpResponse:
    """Lead to what became of it; where something has to be seen first, show that and ask again."""
    [own] = [result for result in results if result.group == view.group.pk]
    for later in results:
        if later is not own and later.answer is not None and not later.answer.already:
            messages.info(
                request, _("A later action was taken back first: {what}.").format(what=later.answer.group.tool)
            )
    if not since.needs_a_look(own):
        return _outcome(request, own.unwrap())
    messages.warning(request, str(own.refusal))
    now = timezone.now()  # noqa: TID251  (a face)
    sight = foresight.before(view.group, by=request.actor, now=now)
    form = RevokeForm(initial=request.POST.dict(), required=view.needs_reason, sight=sight)
    question = questions.before_revoke(view, now=now)
    return _ask(request, "sideeffects/revoke.html", view, question, form, sight=sight, status=409)


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
    request: ActorRequest,
    template: str,
    view: GroupView,
    question: questions.Question,
    form: ReasonForm,
    *,
    sight: foresight.Sight | None = None,
    status: int = 200,
) -> HttpResponse:
    listed = members.of(view.group, size=20)
    proof = proofs.of_group(view.group)
    context = {"view": view, "question": question, "form": form, "listed": listed, "proof": proof}
    return render(request, template, {**context, "sight": sight}, status=422 if form.errors else status)


def _outcome(request: ActorRequest, answer: Answer) -> HttpResponse:
    """Lead to the page that shows, from the rows, what has become of each member."""
    if answer.already:
        messages.info(request, _("Nothing was left to do, so nothing was changed. This is how it stands."))
    return redirect("group", group=answer.group.pk)
