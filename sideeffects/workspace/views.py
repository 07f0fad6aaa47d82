"""What is in my workspace?"""

from django.http import HttpResponse
from django.shortcuts import render

from sideeffects.actors import ActorRequest
from sideeffects.forms import ShelvesForm, read
from sideeffects.workspace import contents


def page(request: ActorRequest) -> HttpResponse:
    """Show one's own projects with their tasks, and notes."""
    owner, asked = request.actor.user, read(ShelvesForm(request.GET), request)
    context = {
        "projects": contents.projects(owner, before=asked["projects"]),
        "notes": contents.notes(owner, before=asked["notes"]),
    }
    return render(request, "sideeffects/workspace.html", context)
