"""What do tools promise, can it be done from here, and has it ever worked?"""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from sideeffects import proofs, toolforms
from sideeffects.actors import ActorRequest
from sideeffects.models import ToolVersion
from sideeffects.services import targets
from sideeffects.toolforms import ToolForm


@never_cache
def new(request: ActorRequest) -> HttpResponse:
    """Declare what a tool promises that agents run elsewhere and report."""
    return _declaration(request, None)


@never_cache
def change(request: ActorRequest, tool: str) -> HttpResponse:
    """Show what a reported tool promises; a POST that says something else makes a new version."""
    return _declaration(request, toolforms.find(tool))


def _declaration(request: ActorRequest, row: ToolVersion | None) -> HttpResponse:
    form = ToolForm(request.POST if request.method == "POST" else None, row=row)
    if form.is_valid():
        version = targets.declare(**form.asked(), by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
        kept = _("Version {n} holds for calls from now on; earlier calls keep what was declared then.")
        same = _("This is what was declared already; nothing was changed.")
        messages.success(request, (same if row and version.pk == row.pk else kept).format(n=version.number))
        return redirect("console-tool", tool=version.tool.name)
    [tool] = proofs.tools_of([row]) if row else [None]
    return render(
        request, "sideeffects/console/tool.html", {"form": form, "tool": tool}, status=422 if form.errors else 200
    )


def page(request: ActorRequest) -> HttpResponse:
    """List tools with their contract and proof, and targets."""
    context = {"tools": proofs.tools(), "targets": proofs.targets()}
    return render(request, "sideeffects/console/tools.html", context)
