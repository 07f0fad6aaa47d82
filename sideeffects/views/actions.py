"""What did agents do for me?"""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from sideeffects import policies
from sideeffects.actions import Listing
from sideeffects.actors import ActorRequest


def page(request: ActorRequest) -> HttpResponse:
    """List one's own actions, newest first, by conversation."""
    own = policies.visible_groups(request.actor).filter(owner=request.actor.user)
    listing = Listing(own, request.GET, request.actor, timezone.now())  # noqa: TID251  (a face)
    status = 200 if listing.is_readable else 400
    return render(request, "sideeffects/actions.html", {"listing": listing}, status=status)
