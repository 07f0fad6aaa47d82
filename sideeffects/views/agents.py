"""Which agents act for me?"""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from sideeffects import people
from sideeffects.actors import ActorRequest
from sideeffects.forms import TokenListForm, read
from sideeffects.services import tokens


def page(request: ActorRequest) -> HttpResponse:
    """List the tokens that act for whoever looks."""
    found = people.tokens(owner=request.actor.user, **read(TokenListForm(request.GET), request))
    context = {"found": found, "now": timezone.now(), "withdraw": "my-token-withdraw"}  # noqa: TID251  (a face)
    return render(request, "sideeffects/my_agents.html", context)


def withdraw(request: ActorRequest, token: UUID) -> HttpResponse:
    """Withdraw one of them, at once."""
    tokens.withdraw(tokens=[token], by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
    messages.success(request, _("The token is withdrawn. It opens nothing any more."))
    return redirect("my-agents")
