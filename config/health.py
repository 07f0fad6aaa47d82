"""Is this process alive, can it do its work, and by which keys is it known to targets?"""

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from audit import triggers
from sideeffects.services import keys


@never_cache
def healthz(_request: HttpRequest) -> HttpResponse:
    """Answer that the process answers; it asks nothing of anybody."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer whether work can be done here, and what is in the way; 503 if something is."""
    in_the_way = obstacles()
    return JsonResponse({"ready": not in_the_way, "in_the_way": in_the_way}, status=503 if in_the_way else 200)


def jwks(_request: HttpRequest) -> HttpResponse:
    """Answer the public keys of delegated tokens (RFC 7517); targets may keep the answer for five minutes."""
    return JsonResponse({"keys": keys.published()}, headers={"Cache-Control": "public, max-age=300"})


def obstacles() -> list[str]:
    """Return what keeps this deployment from working: `database`, `migrations`, `triggers`."""
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return ["migrations"]
        return ["triggers"] if triggers.missing(connection) else []
    except DatabaseError:
        return ["database"]
