"""What does a person decide about a repeat that declared something else?"""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from sideeffects.actors import ActorRequest
from sideeffects.forms import ResolveForm, read
from sideeffects.services import resolve as decisions

SAID = {
    "adopt": lambda: _("Adopted: it belongs to this action now. Nothing was revoked by that."),
    "split": lambda: _("Split: the repeat is an action of its own now."),
    "dismiss": lambda: _("Dismissed: what the first call declared is all that counts."),
}


def resolve(request: ActorRequest, conflict: UUID) -> HttpResponse:
    """Take the decision and lead to the action, which says it for ever after."""
    asked, now = read(ResolveForm(request.POST), request), timezone.now()  # noqa: TID251  (a face)
    done = decisions.resolve(conflict=conflict, by=request.actor, now=now, **asked)
    messages.info(request, _("It had been decided so before.") if done.already else SAID[asked["action"]]())
    return redirect("group", group=done.group.pk)
