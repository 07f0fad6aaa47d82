"""Which actions were taken back together, by whoever asked?"""

from django.http import HttpResponse
from django.shortcuts import render

from sideeffects import batches
from sideeffects.actors import ActorRequest
from sideeffects.batches.sheets import Askings


def page(request: ActorRequest) -> HttpResponse:
    """List everyone's batches, newest first."""
    askings = Askings(batches.visible(request.actor), request.GET)
    status = 200 if askings.cursor.is_readable else 400
    return render(request, "sideeffects/console/batches.html", {"askings": askings}, status=status)
