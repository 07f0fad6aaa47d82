"""What did agents do for everyone?"""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from sideeffects import policies
from sideeffects.actions import Listing
from sideeffects.actors import ActorRequest


def page(request: ActorRequest) -> HttpResponse:
    """List everyone's actions, newest first, owner and agent apart."""
    groups = policies.visible_groups(request.actor)
    listing = Listing(groups, request.GET, request.actor, timezone.now())  # noqa: TID251  (a face)
    status = 200 if listing.is_readable else 400
    return render(request, "sideeffects/console/actions.html", {"listing": listing}, status=status)
