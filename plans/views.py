"""How does a person propose a plan and read its verdict in a browser?"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from plans import picture, queries
from plans.core.verdict import ASSUMPTIONS
from plans.core.words import place
from plans.forms import PlanForm, PlanListForm
from plans.services.submit import submit
from sideeffects.actors import ActorRequest
from sideeffects.forms import read


@require_safe
def page(request: ActorRequest) -> HttpResponse:
    """List the plans that whoever looks may see."""
    form = PlanListForm(request.GET)
    read(form, request)
    found = queries.plans(by=request.actor, **form.asked())
    return render(request, "plans/plans.html", {"found": found, "form": form})


@require_http_methods(["GET", "HEAD", "POST"])
def propose(request: ActorRequest) -> HttpResponse:
    """Take a plan, judge it, keep it, and go to its verdict."""
    form = PlanForm(request.POST, request.FILES) if request.method == "POST" else PlanForm()
    if form.is_valid():
        row, new = submit(by=request.actor, now=timezone.now(), **form.asked())  # noqa: TID251  (a view is a face)
        if not new:
            messages.info(request, _("This plan was proposed before, and nothing has changed since."))
        return redirect("plan", row.pk)
    return render(request, "plans/propose.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def plan(request: ActorRequest, plan: UUID) -> HttpResponse:
    """Show a plan's verdict: every violation at its step, the picture, and what would make it valid."""
    row = queries.plan(key=plan, by=request.actor)
    return render(request, "plans/plan.html", _shown(row))


def _remarks(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return stored remarks with the place they are about, and the step to jump to."""
    return [
        {
            **remark,
            "place": place(tuple(remark["path"])),
            "step": remark["path"][1] if remark["path"][:1] == ["steps"] and len(remark["path"]) > 1 else None,
        }
        for remark in stored
    ]


def _shown(row: Any) -> dict[str, Any]:
    verdict = queries.verdict_of(row)
    lines = picture.lines(verdict)
    return {
        "row": row,
        "verdict": verdict,
        "violations": _remarks(row.violations),
        "warnings": _remarks(row.warnings),
        "picture": picture.of(verdict),
        "lines": lines,
        "lines_left_out": len(verdict.timeline.steps) - len(lines) if verdict.timeline else 0,
        "text": bytes(row.body).decode(errors="replace"),
        "fixes": [(fix, fix.plan_bytes.decode()) for fix in verdict.fixes],
        "assumptions": ASSUMPTIONS,
    }
