"""Which HTTP status does each refusal become? One table for the API and for pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core import exceptions as core
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions as drf
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from audit.export import NotCoveredError
from audit.filters import BadFilterError
from audit.held import UnusableCheckpointError
from audit.merkle import NoSuchProofError
from config.problems import members_of
from plans import courses
from plans import policies as plan_policies
from plans.core import gates, lifecycle
from plans.services import complete, decide, guard, rollback, start, stop, submit
from plans.services import keys as plan_keys
from sideeffects import policies
from sideeffects.actors import NobodyError
from sideeffects.api.parsers import BadBodyError, BodyTooLargeError
from sideeffects.batches.scope import EmptyScopeError
from sideeffects.compensations import BadCompensationError, NotNameableError
from sideeffects.declarations import NotCanonicalError
from sideeffects.services import (
    again,
    attest,
    batch,
    clashes,
    execute,
    fence,
    keys,
    land,
    reconcile,
    record,
    resolve,
    restore,
    retry,
    revoke,
    roles,
    since,
    targets,
    tokens,
)
from sideeffects.services.refuse import name_of
from sideeffects.targets import local
from sideeffects.targets.addresses import HostRefusedError, HostUnknownError
from sideeffects.targets.registry import NoAdapterError
from sideeffects.transitions import TransitionError

API = "/api/"
_UNREAD = {400, 405, 413}  # nothing of the body is read for these: reading it may be what failed
PROBLEM_JSON = "application/problem+json"


@dataclass(frozen=True)
class Refusal:
    """How a class of errors is answered: `slug` names it in the address of its explanation."""

    slug: str
    status: int
    title: Any
    detail: Any = ""  # said instead of the error's own words, where those are not for people


_t = gettext_lazy
_NOT_FOUND = Refusal(
    "not-found", 404, _t("Not found"), _t("There is nothing at this address, or it is not yours to see.")
)
_UNREADABLE = Refusal(
    "bad-request", 400, _t("Not readable"), _t("The request holds characters that nothing can store.")
)
_FAULT = Refusal("fault", 500, _t("A fault of ours"), _t("It has been written down. Nothing was half done."))
_CSRF = Refusal(
    "form-too-old", 403, _t("This form is no longer valid"), _t("Nothing was done. Open the page again and repeat it.")
)
_TOO_LARGE = Refusal("too-large", 413, _t("Too large"), _t("The body is larger than this console takes."))

_NOT_FOUND_BY_US = Refusal("not-found", 404, _t("Not found"))


def _ours(status: int, title: Any, *classes: type[Exception]) -> dict[type[Exception], Refusal]:
    """Return entries for errors of ours, which are named as the log names them."""
    return {cls: Refusal(name_of(cls), status, title) for cls in classes}


# Looked up along the class's bases, so the nearest entry wins.
TABLE: dict[type[Exception], Refusal] = {
    # Ours, since it is not there or not theirs
    policies.NotFoundError: _NOT_FOUND_BY_US,
    tokens.NotYourTokenError: _NOT_FOUND_BY_US,
    reconcile.UnknownCallbackError: _NOT_FOUND_BY_US,
    # Ours, since it is they who ask
    **_ours(401, _t("Not signed in"), NobodyError),
    **_ours(403, _t("For persons only"), policies.ForPersonsOnlyError),
    **_ours(403, _t("An auditor only reads"), policies.ReadOnlyError),
    **_ours(403, _t("The token lacks a scope"), policies.ScopeMissingError),
    **_ours(403, _t("For admins only"), policies.ForAdminsOnlyError),
    **_ours(403, _t("For admins only"), roles.RolesNotYoursToGiveError, tokens.TokensNotYoursToMakeError),
    **_ours(403, _t("This tool is blocked"), record.ToolBlockedError),
    **_ours(429, _t("More than an agent may revoke"), policies.RevokeCapError),
    # Ours, for reasons of the moment
    **_ours(409, _t("Not possible now"), TransitionError),
    **_ours(409, _t("Still in progress"), execute.InProgressError),
    **_ours(409, _t("Revoked before"), execute.RevokedBeforeError),
    **_ours(409, _t("Another try has taken over"), execute.LeaseLostError),
    **_ours(409, _t("Declared differently before"), land.DeclarationConflictError),
    **_ours(409, _t("This call runs here"), land.NotReportedError),
    **_ours(409, _t("In flight: cannot be revoked yet"), revoke.InFlightError),
    **_ours(409, _t("Nothing was written"), revoke.NothingWrittenError),
    **_ours(409, _t("Not revocable"), revoke.NotRevocableError),
    **_ours(409, _t("No target may be asked"), revoke.TargetsOutOfReachError),
    **_ours(409, _t("Decided before"), resolve.AlreadyResolvedError),
    **_ours(409, _t("Nothing would join"), resolve.NothingToAdoptError),
    **_ours(409, _t("Counted, not kept"), resolve.NotKeptError),
    **_ours(409, _t("Not in flight any more"), fence.NotInFlightError),
    **_ours(409, _t("The fence has ended"), fence.FenceEndedError),
    **_ours(422, _t("Nothing narrows it down"), EmptyScopeError),
    **_ours(409, _t("Nothing is selected"), batch.NothingSelectedError),
    **_ours(409, _t("The selection has changed"), batch.SelectionChangedError),
    **_ours(409, _t("Nothing to restore"), batch.NothingToRestoreError),
    **_ours(409, _t("Still at work"), batch.BatchAtWorkError),
    **_ours(409, _t("The undo window is over"), again.WindowClosedError),
    **_ours(409, _t("Asked anew since"), attest.NotCurrentError),
    **_ours(409, _t("Heard before"), reconcile.CallbackReplayedError),
    **_ours(409, _t("The next key is too new"), keys.KeyTooNewError),
    **_ours(409, _t("This tool is declared by the program"), targets.ToolIsCodeError),
    **_ours(409, _t("Nothing here takes this back"), NoAdapterError),
    **_ours(409, _t("Nothing was changed"), local.MembersFailedError),
    **_ours(409, _t("Changed since"), since.EditedSinceError),
    **_ours(409, _t("Later actions build on this"), since.DependedOnError),
    **_ours(503, _t("Busy just now"), retry.BusyError),
    **_ours(409, _t("Nothing in the trash"), restore.NothingInTrashError),
    **_ours(409, _t("Purged: gone for good"), restore.PurgedError),
    **_ours(409, _t("Something stands in the way"), clashes.RestoreClashError),
    **_ours(409, _t("No checkpoint covers this yet"), NotCoveredError),
    **_ours(409, _t("The proof cannot be made"), NoSuchProofError),
    **_ours(422, _t("The checkpoint proves nothing"), UnusableCheckpointError),
    **_ours(409, _t("Nothing to change"), roles.RoleUnchangedError),
    **_ours(409, _t("The last admin stays"), roles.LastAdminError),
    # Ours, for how it was asked
    **_ours(400, _t("The body cannot be read"), BadBodyError),
    BodyTooLargeError: _TOO_LARGE,
    **_ours(400, _t("This callback is not taken"), reconcile.BadCallbackError),
    **_ours(400, _t("A filter cannot be meant"), BadFilterError),
    **_ours(422, _t("Evidence is needed"), attest.EvidenceRequiredError),
    **_ours(422, _t("This host may not be called"), HostRefusedError),
    **_ours(422, _t("This host is not known"), HostUnknownError),
    **_ours(422, _t("Such a target cannot be"), targets.BadTargetError),
    **_ours(422, _t("This cannot be asked of a target"), BadCompensationError, NotNameableError),
    **_ours(422, _t("A reason is needed"), policies.ReasonRequiredError),
    **_ours(422, _t("The arguments do not fit"), execute.ArgumentsError),
    **_ours(422, _t("The tool failed"), execute.ToolFailedError),
    **_ours(422, _t("This key belongs to another call"), record.KeyReusedError),
    **_ours(422, _t("The arguments have no one form"), NotCanonicalError),
    **_ours(422, _t("No such role"), roles.UnknownRoleError),
    **_ours(422, _t("Such a token cannot be made"), tokens.BadTokenRequestError),
    **_ours(422, _t("The plan is refused"), submit.PlanRefusedError),
    **_ours(413, _t("The plan is too large"), submit.PlanTooLargeError),
    # Executions: the gates, and what a person may still decide
    **_ours(403, _t("For agents only"), plan_policies.ForAgentsOnlyError),
    **_ours(409, _t("The plan was refused"), start.PlanNotAcceptedError),
    **_ours(409, _t("The mandate has ended"), start.PlanExpiredError, gates.MandateExpiredError),
    **_ours(409, _t("The plan has changed"), courses.PlanChangedError),
    **_ours(409, _t("The step may not begin"), gates.GateClosedError),
    **_ours(409, _t("The step has begun already"), gates.AlreadyBegunError),
    **_ours(409, _t("Another step comes first"), gates.OutOfOrderError),
    **_ours(409, _t("The mandate does not cover it"), gates.OverMandateError),
    **_ours(409, _t("Blocked: a step took too long"), gates.StepOverdueError),
    **_ours(409, _t("Blocked: an undo window could close"), gates.WindowWouldLapseError),
    **_ours(409, _t("Blocked: an undo window has closed"), gates.WindowLapsedError),
    **_ours(409, _t("Not possible now"), lifecycle.ExecutionStateError),
    **_ours(409, _t("The step is not running"), complete.StepNotRunningError),
    **_ours(409, _t("The step has not begun"), guard.StepNotBegunError),
    **_ours(409, _t("A person decides this step"), complete.StepForPersonError),
    **_ours(422, _t("What the step wrote is missing"), complete.EffectsMissingError),
    **_ours(409, _t("Nothing waits for a decision"), decide.NotWaitingError),
    **_ours(409, _t("Decided already"), decide.AlreadyDecidedError),
    **_ours(409, _t("Asked anew since"), decide.ApprovalSupersededError),
    **_ours(409, _t("Too late to decide"), decide.DeadlinePassedError),
    **_ours(409, _t("The pivot is crossed"), rollback.PivotCrossedError),
    **_ours(409, _t("The pivot is not crossed"), stop.PivotNotCrossedError),
    **_ours(409, _t("The pivot is running"), rollback.PivotRunningError),
    **_ours(403, _t("For admins only"), plan_keys.KeysNotYoursToChangeError),
    **_ours(404, _t("No such key"), plan_keys.NoSuchKeyError),
    **_ours(422, _t("This is no key to sign with"), plan_keys.BadKeyError),
    # What the frameworks raise
    Http404: _NOT_FOUND,
    core.ObjectDoesNotExist: _NOT_FOUND,
    core.PermissionDenied: Refusal("forbidden", 403, _t("Not for you"), _t("Your role does not open this.")),
    core.RequestDataTooBig: _TOO_LARGE,
    core.TooManyFieldsSent: _TOO_LARGE,
    core.TooManyFilesSent: _TOO_LARGE,
    core.SuspiciousOperation: _UNREADABLE,
    core.BadRequest: Refusal("bad-value", 400, _t("Not understood")),
    MultiPartParserError: _UNREADABLE,
    drf.ParseError: Refusal("bad-body", 400, _t("The body cannot be read")),
    drf.ValidationError: Refusal("invalid", 400, _t("Something in it cannot be right"), _t("See errors.")),
    drf.NotAuthenticated: Refusal("signed-out", 401, _t("Not signed in")),
    drf.AuthenticationFailed: Refusal("signed-out", 401, _t("Not signed in")),
    drf.PermissionDenied: Refusal("forbidden", 403, _t("Not for you")),
    drf.NotFound: _NOT_FOUND,
    drf.MethodNotAllowed: Refusal("method-not-allowed", 405, _t("Not this method")),
    drf.NotAcceptable: Refusal("not-acceptable", 406, _t("Only JSON is answered here")),
    drf.UnsupportedMediaType: Refusal("unsupported-media-type", 415, _t("Only JSON is read here")),
    drf.Throttled: Refusal("too-many", 429, _t("Too many requests")),
}


def refusal_of(exc: BaseException) -> Refusal | None:
    """Return how this error is answered, or None: then it is a fault."""
    return next((TABLE[base] for base in type(exc).__mro__ if base in TABLE), None)


def refusals() -> list[Refusal]:
    """Return every kind of refusal once, for the help page."""
    known = {refusal.slug: refusal for refusal in (*TABLE.values(), _CSRF, _FAULT)}
    return sorted(known.values(), key=lambda refusal: refusal.slug)


# -- What is said -------------------------------------------------------------------------------------------------


def _detail(exc: BaseException, refusal: Refusal) -> str:
    return str(refusal.detail) or str(getattr(exc, "detail", None) or exc)


# -- API ----------------------------------------------------------------------------------------------------------


def _body(exc: BaseException, refusal: Refusal) -> dict[str, Any]:
    return {
        **members_of(exc),
        "type": f"{reverse('help')}#{refusal.slug}",
        "title": str(refusal.title),
        "status": refusal.status,
        "detail": _detail(exc, refusal),
    }


def _headers(exc: BaseException) -> dict[str, str]:
    found = {"WWW-Authenticate": getattr(exc, "auth_header", None), "Retry-After": getattr(exc, "wait", None)}
    return {name: str(value) for name, value in found.items() if value}


def problem(exc: Exception, _context: Mapping[str, Any]) -> Response | None:
    """Answer an API error as an RFC 9457 problem; a fault is raised again and becomes `fault` below."""
    refusal = refusal_of(exc)
    if refusal is None:
        return None
    return Response(_body(exc, refusal), refusal.status, headers=_headers(exc), content_type=PROBLEM_JSON)


def _json(exc: BaseException, refusal: Refusal) -> HttpResponse:
    body = JSONRenderer().render(_body(exc, refusal))
    return HttpResponse(body, PROBLEM_JSON, refusal.status, headers=_headers(exc))


# -- Pages --------------------------------------------------------------------------------------------------------


def answer(request: HttpRequest, exc: BaseException) -> HttpResponse:
    """Answer an error that the table knows, on a page or as a problem, as the address asks."""
    refusal = refusal_of(exc) or _FAULT
    return _json(exc, refusal) if request.path.startswith(API) else _page(request, exc, refusal)


def _page(request: HttpRequest, exc: BaseException, refusal: Refusal) -> HttpResponse:
    context = {
        "title": refusal.title,
        "detail": _detail(exc, refusal),
        "status": refusal.status,
        "slug": refusal.slug,
        "typed": [] if refusal.status in _UNREAD or refusal is _CSRF else _typed(request),
        "back": "" if refusal.status in _UNREAD else _back(request),
        "fence": exc.group if isinstance(exc, revoke.InFlightError) else "",
    }
    return render(request, "refused.html", context, status=refusal.status)


def _back(request: HttpRequest) -> str:
    """Return the page of ours that the person came from; an address that only takes forms is none to go back to."""
    came_from = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return came_from if ours else ""


def _typed(request: HttpRequest) -> list[str]:
    """Return the words a person typed into the refused form, so that none are lost; never a password."""
    if request.method != "POST":
        return []
    hidden = {"csrfmiddlewaretoken", "password", "next"}
    texts = [str(value) for key, value in request.POST.items() if key not in hidden]
    return [text for text in texts if " " in text.strip()]


class RefusalMiddleware:
    """Turns refusals that services raise into pages, as `problem` turns them into API answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Go on; only exceptions matter here."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer what the table knows; a fault stays a fault."""
        return answer(request, exception) if refusal_of(exception) else None


# -- What Django calls itself ---------------------------------------------------------------------------------------


def unreadable(request: HttpRequest) -> HttpResponse:
    """Answer 400 without reading the session, whose key may be what is unreadable."""
    if request.path.startswith(API):
        return _json(core.BadRequest(), _UNREADABLE)
    context = {"title": _UNREADABLE.title, "detail": _UNREADABLE.detail, "status": 400, "slug": _UNREADABLE.slug}
    return HttpResponse(render_to_string("refused.html", context), status=400)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, or 413 where too much was sent."""
    return answer(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return answer(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 in the same words whether a thing does not exist or is another's."""
    return answer(request, exception)


def fault(request: HttpRequest) -> HttpResponse:
    """Answer 500 without asking anything that may be what is broken."""
    if request.path.startswith(API):
        return _json(Exception(), _FAULT)
    context = {"title": _FAULT.title, "detail": _FAULT.detail, "status": 500, "slug": _FAULT.slug}
    return HttpResponse(render_to_string("refused.html", context), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  (Django names it; it is for developers and is not shown)
    """Answer a form whose token does not fit."""
    if request.path.startswith(API):
        return _json(Exception(), _CSRF)
    return _page(request, Exception(_("The form's token does not fit.")), _CSRF)
