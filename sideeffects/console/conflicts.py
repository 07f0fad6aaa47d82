"""Which declarations differ from what is held, and wait for a person?"""

from django.http import HttpResponse
from django.shortcuts import render

from sideeffects import conflicts, lists, policies
from sideeffects.actors import ActorRequest


def page(request: ActorRequest) -> HttpResponse:
    """List the undecided conflicts, newest first."""
    rows, cursor = conflicts.undecided(policies.visible_groups(request.actor)), lists.Cursor.of(request.GET)
    found = lists.newest_first(rows, cursor)
    listed = [conflicts.Conflict(row) for row in found.rows]
    context = {"conflicts": listed, "page": found, "total": rows.count(), "cursor": cursor}
    return render(request, "sideeffects/console/conflicts.html", context, status=200 if cursor.is_readable else 400)
