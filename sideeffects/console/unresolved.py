"""What has been asked and not answered, or may have happened and is not known?"""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from sideeffects import policies
from sideeffects.actors import ActorRequest
from sideeffects.backlog import Backlog


def page(request: ActorRequest) -> HttpResponse:
    """Show all of it by cause and age, the longest unmoved first."""
    now = timezone.now()  # noqa: TID251  (a face)
    backlog = Backlog(policies.visible_groups(request.actor), request.GET, now)
    status = 200 if backlog.is_readable else 400
    return render(request, "sideeffects/console/unresolved.html", {"backlog": backlog, "now": now}, status=status)
