"""What do tools promise, can it be done from here, and has it ever worked?"""

from django.http import HttpResponse
from django.shortcuts import render

from sideeffects import proofs
from sideeffects.actors import ActorRequest


def page(request: ActorRequest) -> HttpResponse:
    """List tools with their contract and proof, and targets."""
    context = {"tools": proofs.tools(), "targets": proofs.targets()}
    return render(request, "sideeffects/console/tools.html", context)
