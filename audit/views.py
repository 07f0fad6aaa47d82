"""How does an auditor look into the log in a browser?"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from audit import filters, goes, presenters, queries
from audit.events import CATALOGUE
from audit.held import hold_pasted
from audit.verify import verify_for

VERIFY_SECONDS = 20  # a page answers before a proxy gives up; the command has no limit


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """List the records that meet the filters, unsealed first, then newest first."""
    wanted, cursor = filters.read(request.GET.dict(), zone=timezone.get_current_timezone())
    page = queries.search(wanted, cursor)
    context = {
        "lines": [presenters.line(found) for found in page.found],
        "page": page,
        "older": presenters.address(request.GET, page.older),
        "numbers": queries.numbers(),
        "catalogue": CATALOGUE,
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "audit/search.html", context)


@require_safe
def record(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Show one record: what it says, what it is found by, and the evidence."""
    found = queries.record(uid)
    context = {
        "line": presenters.line(found),
        "found": found,
        "data": presenters.data_of(found),
        "subjects": queries.subjects(found.record),
        "covered": queries.is_covered(found),
        "event": CATALOGUE.get(found.record.action),
    }
    return render(request, "audit/record.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: HttpRequest) -> HttpResponse:
    """Have the log verified, on asking only: it takes a while."""
    context = {"numbers": queries.numbers(), "seconds": VERIFY_SECONDS, "sent": request.POST}
    if request.method == "POST":
        context |= _verified(request, now=timezone.now())  # noqa: TID251  (a view is a face)
    return render(request, "audit/verify.html", context)


def _verified(request: HttpRequest, *, now: datetime) -> dict[str, Any]:
    """Go on where the go before stopped, or begin; return what is known then."""
    by = request.actor.party  # type: ignore[attr-defined]  # (config.access sets who asks)
    sent = {name: request.POST.get(name, "") for name in ("checkpoint", "key", "reached")}
    held = hold_pasted(sent["checkpoint"], sent["key"])
    going = goes.going(sent, now=now)
    verdict = verify_for(by=by, now=now, seconds=VERIFY_SECONDS, held=held, reached=going.reached)
    return {
        "verdict": verdict,
        "words": presenters.verdict_words(verdict, now),
        "at": now,
        "began_at": going.began_at if going.reached else None,
        "onward": goes.onward(verdict, sent, began_at=going.began_at),
    }


@require_GET
def events(request: HttpRequest) -> HttpResponse:
    """Explain every event that can stand on the log."""
    return render(request, "audit/events.html", {"events": CATALOGUE.values()})
