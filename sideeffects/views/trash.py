"""What lies in my trash, until when, and how does it come back?"""

from django.http import HttpResponse
from django.shortcuts import render

from sideeffects.actors import ActorRequest
from sideeffects.trash import Trash


def page(request: ActorRequest) -> HttpResponse:
    """List what revocations of one's own actions removed and what can be restored."""
    trash = Trash(request.actor, request.GET)
    status = 200 if trash.cursor.is_readable else 400
    return render(request, "sideeffects/trash.html", {"trash": trash}, status=status)
