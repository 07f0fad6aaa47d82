"""How does a person take back, or bring back, many actions at once, and see what came of each?"""

from collections.abc import Callable, Mapping
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from sideeffects import batches
from sideeffects.actors import ActorRequest
from sideeffects.batches import questions, tables
from sideeffects.batches.before import Before
from sideeffects.batches.forms import ItemsForm, ScopeForm, StartForm
from sideeffects.batches.sheets import Askings, Sheet
from sideeffects.forms import ReasonForm, read
from sideeffects.models import Batch
from sideeffects.services import batch as service

VERBS: Mapping[str, Callable[..., Batch]] = {
    "stop": service.stop,
    "resume": service.resume,
    "retry": service.retry,
    "restore": service.restore,
}


def page(request: ActorRequest) -> HttpResponse:
    """List the batches that this person asked for, newest first."""
    askings = Askings(batches.visible(request.actor).filter(user=request.actor.user), request.GET)
    status = 200 if askings.cursor.is_readable else 400
    return render(request, "sideeffects/batches.html", {"askings": askings}, status=status)


def new(request: ActorRequest) -> HttpResponse:
    """Show what taking back all that an address names would come to; a POST asks for it and leads to its page."""
    form = ScopeForm(request.GET, by=request.actor)
    if form.is_valid() and form.says_something:
        return _before(request, form)
    status = 400 if form.says_something else 200
    return render(request, "sideeffects/batch_new.html", {"scope_form": form}, status=status)


def _before(request: ActorRequest, scope_form: ScopeForm) -> HttpResponse:
    scope, by, now = scope_form.asked(), request.actor, timezone.now()  # noqa: TID251  (a face)
    preview = batches.preview(scope=scope, by=by, now=now)
    form = StartForm(request.POST if request.method == "POST" else None, preview=preview)
    if form.is_valid():
        row = service.start(by=by, now=now, **form.asked(scope))
        return redirect("batch", batch=row.pk)
    context = {"scope_form": scope_form, "scope": scope, "question": Before(preview), "form": form}
    return render(request, "sideeffects/batch_new.html", context, status=422 if form.errors else 200)


def one(request: ActorRequest, batch: UUID) -> HttpResponse:
    """Show one batch: its numbers as of now, what came of each action, and what may be done about it."""
    sheet = _sheet(request, batch)
    if request.htmx:
        return _how_far(request, sheet)
    context = {"sheet": sheet, "offers": questions.offers(sheet), "back": questions.afterwards(sheet)}
    return render(request, "sideeffects/batch.html", context)


def _how_far(request: ActorRequest, sheet: Sheet) -> HttpResponse:
    answer = render(request, "sideeffects/batch_live.html", {"sheet": sheet})
    if sheet.standing != request.GET.get("was"):
        answer["HX-Refresh"] = "true"  # it has ended, or was stopped: the whole page says other things now
    return answer


def _sheet(request: ActorRequest, batch: UUID) -> Sheet:
    asked, now = read(ItemsForm(request.GET), request), timezone.now()  # noqa: TID251  (a face)
    row = batches.one(batch, request.actor)
    return Sheet(row, request.actor, now, asked["outcome"], asked["after"])


def table(request: ActorRequest, batch: UUID) -> StreamingHttpResponse:
    """Give out what came of each action as a table for spreadsheets, however many there are."""
    sheet = _sheet(request, batch)
    chunks = tables.table(sheet.batch, sheet.outcome, by=request.actor)
    name = f'attachment; filename="batch-{sheet.batch.pk}.csv"'
    return StreamingHttpResponse(chunks, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})


def stop(request: ActorRequest, batch: UUID) -> HttpResponse:
    """Ask before a batch is stopped; a POST stops it after the chunk it is at."""
    return _ask(request, batch, "stop")


def resume(request: ActorRequest, batch: UUID) -> HttpResponse:
    """Ask before a stopped batch goes on; a POST lets it."""
    return _ask(request, batch, "resume")


def retry(request: ActorRequest, batch: UUID) -> HttpResponse:
    """Ask before what failed is tried again; a POST does that."""
    return _ask(request, batch, "retry")


def restore(request: ActorRequest, batch: UUID) -> HttpResponse:
    """Ask before what a batch revoked is restored; a POST makes a batch of that."""
    return _ask(request, batch, "restore")


def _ask(request: ActorRequest, batch: UUID, verb: str) -> HttpResponse:
    sheet = _sheet(request, batch)
    question = questions.ABOUT[verb](sheet)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=question.needs_reason)
    if form.is_valid():
        row = VERBS[verb](batch=batch, by=request.actor, now=sheet.now, **form.cleaned_data)
        messages.info(request, question.done)
        return redirect("batch", batch=row.pk)
    context = {"sheet": sheet, "question": question, "form": form}
    return render(request, "sideeffects/batch_ask.html", context, status=422 if form.errors else 200)
