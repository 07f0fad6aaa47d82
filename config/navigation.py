"""Which pages may whoever looks open? The navigation of every page, from the access table."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from config.access import Verdict, endpoint_of, judge
from sideeffects.actors import NOBODY, Actor


@dataclass(frozen=True)
class Entry:
    """One line of a navigation."""

    endpoint: str
    label: str
    section: tuple[str, ...]  # endpoints that belong under it, by prefix

    def here(self, endpoint: str) -> bool:
        """Say whether the page shown belongs under this entry."""
        return bool(endpoint) and endpoint.startswith(self.section)


def _main() -> list[Entry]:
    return [
        Entry("actions", _("My AI actions"), ("actions", "group")),
        Entry("batches", _("Batches"), ("batch",)),
        Entry("trash", _("Trash"), ("trash",)),
        Entry("workspace", _("Workspace"), ("workspace",)),
        Entry("plans", _("Plans"), ("plan",)),
        Entry("executions", _("Executions"), ("execution", "approvals")),
        Entry("my-agents", _("My agents"), ("my-",)),
        Entry("console-actions", _("Console"), ("console-",)),
        Entry("audit-search", _("Audit"), ("audit-",)),
    ]


def _console() -> list[Entry]:
    return [
        Entry("console-actions", _("All actions"), ("console-actions",)),
        Entry("console-batches", _("Batches"), ("console-batches",)),
        Entry("console-unresolved", _("Unresolved"), ("console-unresolved",)),
        Entry("console-approvals", _("Approvals"), ("console-approvals",)),
        Entry("console-conflicts", _("Conflicts"), ("console-conflicts",)),
        Entry("console-targets", _("Targets"), ("console-target",)),
        Entry("console-tools", _("Tools"), ("console-tool",)),
        Entry("console-agents", _("Agents"), ("console-agents", "console-token")),
        Entry("console-people", _("People"), ("console-people",)),
    ]


def _links(entries: list[Entry], actor: Actor, endpoint: str) -> list[dict[str, Any]]:
    """Return what the actor may open and what exists."""
    links = []
    for entry in entries:
        if judge(entry.endpoint, "GET", actor) is not Verdict.ALLOWED:
            continue
        try:
            url = reverse(entry.endpoint)
        except NoReverseMatch:
            continue  # listed in the table, not built in this deployment
        links.append({"url": url, "label": entry.label, "current": entry.here(endpoint)})
    return links


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the navigation of whoever looks: only what the role may open."""
    actor: Actor = getattr(request, "actor", NOBODY)
    if actor.is_nobody:
        return {"actor": NOBODY, "navigation": [], "subnavigation": []}
    endpoint = endpoint_of(request.resolver_match)
    console = _links(_console(), actor, endpoint) if endpoint.startswith("console-") else []
    return {"actor": actor, "navigation": _links(_main(), actor, endpoint), "subnavigation": console}
