"""How does an auditor see what is proven, and take the proof home, in a browser?"""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from audit import checkpoints, filters, presenters, queries, receipts
from audit import export as exports

SHOWN = 20  # checkpoints on a page


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Show how much there is, how much of it is protected, and what can be taken home."""
    context = {"numbers": queries.numbers(), "kept": checkpoints.newest(SHOWN), "scope": exports.SCOPE}
    return render(request, "audit/overview.html", context)


@require_safe
def story(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Tell how a revocation went, from asking to outcome, as far as the log knows."""
    found = queries.record(uid)
    lines = [presenters.line(one) for one in queries.story(found)]
    context = {"found": found, "line": presenters.line(found), "lines": lines, "numbers": queries.numbers()}
    return render(request, "audit/story.html", context)


@require_safe
def receipt(_request: HttpRequest, uid: UUID) -> StreamingHttpResponse:
    """Give out a record's receipt."""
    return _download(exports.receipt(uid))


@require_safe
def checkpoint(_request: HttpRequest) -> HttpResponse:
    """Give out the last checkpoint."""
    last = exports.last_checkpoint()
    return _file(last.note, f"{last.size:012}.checkpoint")


@require_safe
def key(_request: HttpRequest) -> HttpResponse:
    """Give out the public key the last checkpoint was signed by."""
    return _file(exports.last_checkpoint().key + "\n", "keys")


@require_POST
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Give out all that the last checkpoint covers, or what speaks of one object."""
    sent = {name: request.POST.get(name, "") for name in ("form", "type", "id")}
    form, about = filters.read_export(sent)
    by = request.actor.party  # type: ignore[attr-defined]  # (config.access sets who asks)
    return _download(exports.export_for(by=by, now=timezone.now(), form=form, about=about))  # noqa: TID251  (a face)


@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """Check a receipt that anyone pastes, with the key they hold."""
    context: dict[str, Any] = {"receipt": request.POST.get("receipt", ""), "key": request.POST.get("key", "")}
    if request.method == "POST":
        context["checked"] = receipts.check(context["receipt"], context["key"])
    return render(request, "audit/check.html", context)


@require_safe
def offline(_request: HttpRequest) -> HttpResponse:
    """Give out the program that checks receipts and exports anywhere."""
    return _file(receipts.program(), "verify_offline.py")


def _file(text: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


def _download(file: exports.File) -> StreamingHttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingHttpResponse(file.chunks, content_type=file.type, headers=headers)
