"""Who may use which address? One table, endpoint by role by scope; what is not in it is denied."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import ResolverMatch, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from rest_framework import exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config import errors
from sideeffects import actors
from sideeffects.actors import ADMIN, AUDITOR, NOBODY, Actor
from sideeffects.policies import ForPersonsOnlyError

ANYONE, OWNER, STAFF = "anyone", "owner", "staff"  # signed out too; every signed-in person; Django's is_staff
RECORD, PROPOSE, EXECUTE, REVOKE_OWN, READ = actors.SCOPES
API = "/api/"


@dataclass(frozen=True)
class Rule:
    """Who may use one method of one endpoint: people by any of `roles`, agents by any of `scopes`."""

    roles: frozenset[str]
    scopes: frozenset[str] = frozenset()

    def allows(self, actor: Actor) -> bool:
        """Say whether this actor may pass; an agent never passes by its owner's roles."""
        if ANYONE in self.roles:
            return True
        if actor.token is not None:
            return bool(self.scopes & frozenset(actor.token.scopes))
        return bool(self.roles & _held_by(actor))


Methods = dict[str, Rule]


def _rule(roles: str, scopes: str = "") -> Rule:
    return Rule(frozenset(roles.split()), frozenset(scopes.split()))


def _see(roles: str, scopes: str = "") -> Methods:
    return {"GET": _rule(roles, scopes)}


def _do(roles: str, scopes: str = "") -> Methods:
    return {"POST": _rule(roles, scopes)}


def _form(roles: str) -> Methods:
    return _see(roles) | _do(roles)


# Endpoint (URL name, or `namespace:`) → method → rule. HEAD and OPTIONS follow GET. Whose object it is, policies say.
TABLE: dict[str, Methods] = {
    # Everyone
    "login": _form(ANYONE),
    "logout": _do(ANYONE),
    "enter": _form(ANYONE),
    "help": _see(ANYONE),
    "events": _see(ANYONE),
    "receipt-check": _form(ANYONE),
    "offline-verifier": _see(ANYONE),
    "healthz": _see(ANYONE),
    "readyz": _see(ANYONE),
    "jwks": _see(ANYONE),
    "metrics": _see(ANYONE),  # counts only; may ask for a token of its own
    # Owners: one's own
    "actions": _see(OWNER),
    "group": _see(OWNER),
    "group-revoke": _form(OWNER),
    "group-restore": _form(OWNER),
    "group-again": _form(OWNER),
    "group-attest": _form(OWNER),
    "group-fence": _form(OWNER),
    "group-fence-lift": _form(OWNER),
    "conflict-resolve": _do(OWNER),
    "batches": _see(OWNER),
    "batch-new": _form(OWNER),
    "batch": _see(OWNER),
    "batch-table": _see(OWNER),
    "batch-stop": _form(OWNER),
    "batch-resume": _form(OWNER),
    "batch-retry": _form(OWNER),
    "batch-restore": _form(OWNER),
    "trash": _see(OWNER),
    "workspace": _see(OWNER),
    "plans": _see(OWNER),
    "plan": _see(OWNER),
    "plan-propose": _form(OWNER),
    "executions": _see(OWNER),
    "execution": _see(OWNER),
    "execution-rollback": _form(OWNER),
    "execution-decide": _form(OWNER),
    "approvals": _see(OWNER),
    "my-agents": _see(OWNER),
    "my-token-withdraw": _do(OWNER),
    # Admin: the console
    "console-actions": _see(ADMIN),
    "console-approvals": _see(ADMIN),
    "console-batches": _see(ADMIN),
    "console-conflicts": _see(ADMIN),
    "console-unresolved": _see(ADMIN),
    "console-targets": _see(ADMIN),
    "console-target-new": _form(ADMIN),
    "console-target": _form(ADMIN),
    "console-target-switch": _do(ADMIN),
    "console-target-resume": _do(ADMIN),
    "console-tools": _see(ADMIN),
    "console-tool-new": _form(ADMIN),
    "console-tool": _form(ADMIN),
    "console-agents": _form(ADMIN),
    "console-token-withdraw": _do(ADMIN),
    "console-people": _form(ADMIN),
    # The log
    "audit-search": _see(f"{ADMIN} {AUDITOR}"),
    "audit-record": _see(f"{ADMIN} {AUDITOR}"),
    "audit-overview": _see(f"{ADMIN} {AUDITOR}"),
    "audit-story": _see(f"{ADMIN} {AUDITOR}"),
    "audit-receipt": _see(f"{ADMIN} {AUDITOR}"),
    "audit-checkpoint": _see(f"{ADMIN} {AUDITOR}"),
    "audit-key": _see(f"{ADMIN} {AUDITOR}"),
    "audit-export": _do(f"{ADMIN} {AUDITOR}"),
    "audit-verify": _form(f"{ADMIN} {AUDITOR}"),
    # API: what agents write. A person's session records nothing: what stands there is an agent's doing.
    "api-tool-calls": _do("", RECORD),
    "api-tool-call-land": _do("", RECORD),
    "api-tool-call-fail": _do("", RECORD),
    "api-tool-call-lose": _do("", RECORD),
    # API: what people and agents read and take back. Restoring is a judgment: for persons.
    "api-groups": _see(OWNER, READ),
    "api-group": _see(OWNER, READ),
    "api-group-revoke": _do(OWNER, REVOKE_OWN),
    "api-group-restore": _do(OWNER),
    "api-group-fence": {"PUT": _rule(OWNER, REVOKE_OWN), "DELETE": _rule(OWNER)},  # lifting is a judgment
    "api-conflict-resolve": _do(OWNER),
    "api-effects": _see(OWNER, READ),
    "api-effect": _see(OWNER, READ),
    "api-effect-revoke": _do(OWNER, REVOKE_OWN),
    "api-batches": _see(OWNER, f"{READ} {REVOKE_OWN}") | _do(OWNER, REVOKE_OWN),
    "api-batch": _see(OWNER, f"{READ} {REVOKE_OWN}"),  # who may ask for one may watch it
    "api-batch-items": _see(OWNER, f"{READ} {REVOKE_OWN}"),
    "api-batch-stop": _do(OWNER),
    "api-batch-resume": _do(OWNER),
    "api-batch-retry": _do(OWNER),
    "api-batch-restore": _do(OWNER),
    "api-trash": _see(OWNER, READ),
    "api-plans": _see(OWNER, READ) | _do(OWNER, PROPOSE),
    "api-plan": _see(OWNER, READ),
    "api-plan-validate": _do(OWNER, PROPOSE),
    # API: an agent carries out its plan; deciding is a judgment: for persons
    "api-executions": _do("", EXECUTE),
    "api-execution": _see(OWNER, f"{READ} {EXECUTE}"),
    "api-execution-rollback": _do(OWNER, EXECUTE),
    "api-step-begin": _do("", EXECUTE),
    "api-step-complete": _do("", EXECUTE),
    "api-step-fail": _do("", EXECUTE),
    "api-step-approve": _do(OWNER),
    "api-step-decline": _do(OWNER),
    "api-request": _see(OWNER, READ),
    "api-request-retry": _do(OWNER),
    "api-request-attest": _do(OWNER),
    "api-unresolved": _see(OWNER, READ),
    "api-callback": _do(ANYONE),  # signed by the target
    "api-tools": _see(OWNER, READ),
    "api-targets": _see(OWNER, READ),
    "api-audit-records": _see(f"{ADMIN} {AUDITOR}"),
    "api-audit-record": _see(f"{ADMIN} {AUDITOR}"),
    "api-audit-receipt": _see(f"{ADMIN} {AUDITOR}"),
    "api-audit-checkpoint": _see(f"{ADMIN} {AUDITOR}"),
    "api-audit-export": _see(f"{ADMIN} {AUDITOR}"),
    "api-audit-verify": _see(f"{ADMIN} {AUDITOR}"),
    "api-schema": _see(ANYONE),
    "api-docs": _see(ANYONE),
    # Django's own admin: for its staff, whatever roles they hold here
    "admin:": _form(STAFF),
}


# What an agent that asks for it is told is a person's decision; as the services say it.
JUDGMENTS = {
    "api-group-restore": "restore",
    "api-group-fence": "lift a fence",
    "api-conflict-resolve": "decide about a difference",
    "api-step-approve": "approve or decline a step",
    "api-step-decline": "approve or decline a step",
    "api-request-retry": "try again",
    "api-request-attest": "attest",
    "api-batch-stop": "stop a batch",
    "api-batch-resume": "have a batch go on",
    "api-batch-retry": "try again",
    "api-batch-restore": "restore",
}


class Verdict(Enum):
    """What the table says about one asking."""

    ALLOWED = "allowed"
    UNLISTED = "unlisted"
    WRONG_METHOD = "wrong method"
    SIGNED_OUT = "signed out"
    FORBIDDEN = "forbidden"


def endpoint_of(match: ResolverMatch | None) -> str:
    """Return how the table calls the address: its URL name, or its namespace with a colon."""
    if match is None:
        return ""
    return f"{match.namespaces[0]}:" if match.namespaces else match.url_name or ""


def judge(endpoint: str, method: str, actor: Actor) -> Verdict:
    """Say whether the actor may use the method; who may use no method of an endpoint never learns which exist."""
    methods = TABLE.get(endpoint)
    if methods is None:
        return Verdict.UNLISTED
    rule = methods.get(_as_listed(method))
    if rule is not None and rule.allows(actor):
        return Verdict.ALLOWED
    if rule is None and any(other.allows(actor) for other in methods.values()):
        return Verdict.WRONG_METHOD
    return Verdict.SIGNED_OUT if actor.is_nobody else Verdict.FORBIDDEN


def _as_listed(method: str) -> str:
    return "GET" if method in {"HEAD", "OPTIONS"} else method


def _held_by(actor: Actor) -> frozenset[str]:
    if actor.user is None:
        return frozenset()
    return actor.roles | {OWNER} | ({STAFF} if actor.user.is_staff else frozenset())


def _actor_of(user: Any) -> Actor:
    return actors.person(user) if user is not None and user.is_authenticated else NOBODY


class AccessMiddleware:
    """Holds the table against every page, and sets `request.actor`; API views ask the table by `TablePermission`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse what no database can hold before anything reads it, then go on."""
        request.actor = SimpleLazyObject(lambda: _actor_of(request.user))  # type: ignore[attr-defined]  # (ActorRequest names it)
        return errors.unreadable(request) if _holds_nul(request) else self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """Answer in place of the view unless the table allows it."""
        endpoint = endpoint_of(request.resolver_match)
        if endpoint in TABLE and request.path.startswith(API) and _asks_the_table(view):
            return None
        actor: Actor = NOBODY if _is_open(endpoint, request.method) else request.actor  # type: ignore[attr-defined]  # (set above)
        verdict = judge(endpoint, request.method or "", actor)
        if verdict is not Verdict.ALLOWED:
            return _refuse(request, verdict)
        return errors.unreadable(request) if _has_nul(request.POST) else None


def _asks_the_table(view: Any) -> bool:
    return TablePermission in getattr(getattr(view, "cls", None), "permission_classes", ())


def _is_open(endpoint: str, method: str | None) -> bool:
    """Say whether nobody needs to be known here: then no database is asked, so that health checks tell the truth."""
    return judge(endpoint, method or "", NOBODY) is Verdict.ALLOWED


def _holds_nul(request: HttpRequest) -> bool:
    headers = (value for key, value in request.META.items() if key.startswith("HTTP_"))
    values = (request.path, *request.COOKIES.values(), *headers)
    return _has_nul(request.GET) or any("\0" in value for value in values)


def _has_nul(sent: QueryDict) -> bool:
    return any("\0" in text for key, values in sent.lists() for text in (key, *values))


def _refuse(request: HttpRequest, verdict: Verdict) -> HttpResponse:
    if verdict is Verdict.SIGNED_OUT and not request.path.startswith(API):
        htmx: Any = request.htmx  # type: ignore[attr-defined]  # (HtmxMiddleware)
        shown = (htmx.current_url_abs_path or "/") if htmx else request.get_full_path()
        to_login = redirect_to_login(shown, reverse("login"))
        return HttpResponseClientRedirect(to_login.url) if htmx else to_login
    if verdict is Verdict.WRONG_METHOD:
        return errors.answer(request, exceptions.MethodNotAllowed(request.method or ""))
    if verdict is Verdict.SIGNED_OUT:
        return errors.answer(request, exceptions.NotAuthenticated())
    return errors.answer(
        request, exceptions.PermissionDenied(_needs(endpoint_of(request.resolver_match), request.method or ""))
    )


def _needs(endpoint: str, method: str) -> str:
    """Say what would have been needed, in words; an unlisted address says so."""
    if endpoint not in TABLE:
        return _("This address is not listed for anyone.")
    rules = [rule for name, rule in TABLE[endpoint].items() if name == _as_listed(method)] or TABLE[endpoint].values()
    roles = sorted({role for rule in rules for role in rule.roles})
    scopes = sorted({scope for rule in rules for scope in rule.scopes})
    return _("This needs one of: {names}.").format(
        names=", ".join(
            [_("role {name}").format(name=r) for r in roles] + [_("scope {name}").format(name=s) for s in scopes]
        )
    )


class TablePermission(BasePermission):
    """Holds the table against every API view: people by role, agents by scope. Sets `request.actor`."""

    def has_permission(self, request: Request, _view: object) -> bool:
        """Say whether the asker may; raises what tells it best."""
        token: Any = request.auth
        actor = actors.agent(token) if token else _actor_of(request.user)
        request._request.actor = actor  # type: ignore[attr-defined]  # noqa: SLF001  (the one place where both requests meet)
        endpoint = endpoint_of(request.resolver_match)
        verdict = judge(endpoint, request.method or "", actor)
        if verdict is Verdict.WRONG_METHOD:
            raise exceptions.MethodNotAllowed(request.method or "")
        if verdict is Verdict.SIGNED_OUT:
            raise exceptions.NotAuthenticated
        if verdict is not Verdict.ALLOWED:
            raise _denied(endpoint, request.method or "", actor)
        return True


def _denied(endpoint: str, method: str, actor: Actor) -> Exception:
    """Return what tells an asker best why not: an agent at a judgment, that no scope would open it."""
    rule = TABLE.get(endpoint, {}).get(_as_listed(method))
    if actor.token is not None and endpoint in JUDGMENTS and rule is not None and not rule.scopes:
        return ForPersonsOnlyError(JUDGMENTS[endpoint])
    return exceptions.PermissionDenied(_needs(endpoint, method))
