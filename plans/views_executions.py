"""How does a person follow executions in a browser, decide what waits for them, and roll back?"""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from plans import outlook, progress, queries
from plans.forms import DecideForm, ExecutionListForm, ReasonForm
from plans.outlook import Outlook, StepView
from plans.services.decide import approve, decline
from plans.services.rollback import rollback
from plans.services.stop import stop as stop_execution
from sideeffects.actors import ActorRequest
from sideeffects.forms import read

VERBS = {"approve": approve, "decline": decline}


@require_safe
def page(request: ActorRequest) -> HttpResponse:
    """List the executions that whoever looks may see, and say how much waits for them."""
    form = ExecutionListForm(request.GET)
    read(form, request)
    now = timezone.now()  # noqa: TID251  (a face)
    found = queries.executions_page(by=request.actor, **form.asked())
    views = outlook.of(found.rows, by=request.actor, now=now)
    context = {"found": found, "views": views, "waiting": len(_waiting(request, own=True))}
    return render(request, "plans/executions.html", context)


def _waiting(request: ActorRequest, *, own: bool) -> list[outlook.Asking]:
    rows = queries.executions_waiting(by=request.actor, owner=request.actor.user if own else None)
    return outlook.waiting(outlook.of(rows, by=request.actor, now=timezone.now()))  # noqa: TID251  (a face)


@require_safe
def approvals(request: ActorRequest) -> HttpResponse:
    """List what waits for the decision of whoever looks, the nearest deadline first."""
    return render(request, "plans/approvals.html", {"askings": _waiting(request, own=True), "all": False})


@require_safe
def console_approvals(request: ActorRequest) -> HttpResponse:
    """List what waits for anyone's decision, the nearest deadline first."""
    return render(request, "plans/approvals.html", {"askings": _waiting(request, own=False), "all": True})


def _look(request: ActorRequest, execution: UUID) -> Outlook:
    row = queries.execution(key=execution, by=request.actor)
    return outlook.one(row, by=request.actor, now=timezone.now())  # noqa: TID251  (a face)


@require_safe
def execution(request: ActorRequest, execution: UUID) -> HttpResponse:
    """Show an execution: what ran, what is open, what closes next, and what each button will do."""
    view = _look(request, execution)
    return render(request, "plans/execution.html", {"view": view, "row": view.row, "picture": progress.of(view)})


@require_http_methods(["GET", "HEAD", "POST"])
def roll_back(request: ActorRequest, execution: UUID) -> HttpResponse:
    """Ask before a rollback; a POST does it and leads to what became of each step."""
    return _with_reason(request, execution, rollback, "plans/rollback.html")


@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: ActorRequest, execution: UUID) -> HttpResponse:
    """Ask before an execution ends past its pivot; a POST ends it."""
    return _with_reason(request, execution, stop_execution, "plans/stop.html")


def _with_reason(request: ActorRequest, execution: UUID, act: Callable[..., object], question: str) -> HttpResponse:
    """Show a question with a reason; a POST acts and leads back to the execution."""
    view = _look(request, execution)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        act(execution=execution, reason=form.cleaned_data["reason"], by=request.actor, now=timezone.now())  # noqa: TID251  (a face)
        return redirect("execution", execution)
    context = {"view": view, "row": view.row, "form": form}
    return render(request, question, context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: ActorRequest, execution: UUID, step: str) -> HttpResponse:
    """Show what a person is asked, and take their decision."""
    view = _look(request, execution)
    form = DecideForm(request.POST if request.method == "POST" else None, required=view.needs_reason)
    if form.is_valid():
        act, asked = VERBS[form.cleaned_data["verdict"]], form.asked()
        act(execution=execution, step=step, by=request.actor, now=timezone.now(), **asked)  # noqa: TID251  (a face)
        messages.info(request, _("Your decision is recorded."))
        return redirect("execution", execution)
    context = _asked(view, view.of(step)) | {"form": form}
    return render(request, "plans/decide.html", context, status=422 if form.errors else 200)


def _asked(view: Outlook, asked: StepView) -> dict[str, Any]:
    tree = queries.verdict_of(view.row.plan).tree or {"steps": []}
    text = json.dumps(tree["steps"][asked.step.index], indent=2)  # in ASCII: nothing in it is invisible
    return {"view": view, "row": view.row, "asked": asked, "text": text}
