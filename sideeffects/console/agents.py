"""Which agents act for whom? The admin's page of agents and their tokens."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from sideeffects import people
from sideeffects.actors import ActorRequest
from sideeffects.forms import TokenForm, TokenListForm, read
from sideeffects.services import tokens


@never_cache
def page(request: ActorRequest) -> HttpResponse:
    """List tokens; a POST makes one and shows it this once."""
    now = timezone.now()  # noqa: TID251  (a face)
    form = TokenForm(request.POST if request.method == "POST" else None)
    made: dict[str, Any] = {}
    if form.is_valid():
        token, secret = tokens.create(**form.asked(now=now), by=request.actor, now=now)
        made, form = {"token": token, "secret": secret}, TokenForm()
    found = people.tokens(**read(TokenListForm(request.GET), request))
    context = {"found": found, "form": form, "now": now, "withdraw": "console-token-withdraw"} | made
    return render(request, "sideeffects/console/agents.html", context, status=422 if form.errors else 200)


def withdraw(request: ActorRequest, token: UUID) -> HttpResponse:
    """Withdraw one token, at once."""
    tokens.withdraw(tokens=[token], by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
    messages.success(request, _("The token is withdrawn. It opens nothing any more."))
    return redirect("console-agents")
