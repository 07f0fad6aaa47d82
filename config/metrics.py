"""How does this deployment stand, in numbers that a machine watches? Prometheus text; counts only, no names."""

import hmac
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from audit import queries as audit
from sideeffects import unresolved
from sideeffects.batches import counts
from sideeffects.models import Batch, Group, Notice, Request

TYPE = "text/plain; version=0.0.4; charset=utf-8"


@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer the numbers; where TAKEBACK_METRICS_TOKEN is set, only to who sends it as a bearer token."""
    wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
    if settings.METRICS_TOKEN and not hmac.compare_digest(request.headers.get("Authorization", "").encode(), wanted):
        return HttpResponse("The token is missing or not this one.\n", status=401, content_type="text/plain")
    return HttpResponse("".join(f"{line}\n" for line in lines()), content_type=TYPE)


def lines() -> Iterator[str]:
    """Yield every line of the answer."""
    now = timezone.now()  # noqa: TID251  (a face)
    shares = unresolved.shares(Group.objects.all(), now=now)
    yield from _head("takeback_unresolved", "Requests and calls that are unresolved, by cause and age.")
    for share in shares:
        for age, number in share.ages.items():
            yield f'takeback_unresolved{{cause="{share.cause}",age="{age}"}} {number}'
    yield from _head("takeback_unresolved_oldest_seconds", "Age of the oldest of each cause.")
    for share in shares:
        seconds = (now - share.oldest_at).total_seconds() if share.oldest_at else 0
        yield f'takeback_unresolved_oldest_seconds{{cause="{share.cause}"}} {seconds:.0f}'
    yield from _of_batches(now)
    for name, meaning, value in _single():
        yield from _head(name, meaning)
        yield f"{name} {value}"


def _of_batches(now: datetime) -> Iterator[str]:
    yield from _head("takeback_batches", "Batches at work, and stopped before their end.")
    numbers = dict(Batch.objects.order_by().values_list("state").annotate(Count("pk")))
    for state in (Batch.State.WORKING, Batch.State.STOPPED):
        yield f'takeback_batches{{state="{state}"}} {numbers.get(state, 0)}'
    last = min(counts.moved().values(), default=now)
    yield from _head("takeback_batch_still_seconds", "How long the batch at work that is stillest has not moved.")
    yield f"takeback_batch_still_seconds {(now - last).total_seconds():.0f}"


def _single() -> Iterator[tuple[str, str, int]]:
    stale = Request.objects.filter(current=True, state__in=unresolved.STATES).exclude(stale_since=None).count()
    yield "takeback_stale_requests", "Requests unresolved for longer than their threshold.", stale
    yield "takeback_targets_unreachable", "Targets that cannot be reached now.", len(list(unresolved.unreachable()))
    in_flight = Request.objects.filter(lease_until__gt=timezone.now()).count()  # noqa: TID251  (a face)
    yield "takeback_requests_in_flight", "Requests that a worker carries now.", in_flight
    yield "takeback_notices_unsent", "Notices that no mail has told yet.", Notice.objects.filter(sent_at=None).count()
    yield "takeback_log_unsealed", "Records of the log that no chain binds yet.", audit.numbers().unsealed


def _head(name: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} gauge"
