"""What does each tool promise, is there a way to keep the promise here, was it ever kept, and how far does it get?"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from sideeffects import proofwords, queries, unresolved, words
from sideeffects.models import Effect, Group, Request, Revocation, Target, Tool, ToolVersion
from sideeffects.presenters import date_text
from sideeffects.proofwords import Came
from sideeffects.targets.addresses import HostRefusedError, check_written, is_this_machine
from sideeffects.targets.registry import ADAPTERS
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transitions import EffectState, Outcome, RevokeClass

_CAME = {
    EffectState.COMPENSATED: Came.WORKED,
    EffectState.REFUSED: Came.REFUSED,
    EffectState.UNKNOWN: Came.UNKNOWN,
    EffectState.COMPENSATING: Came.ACCEPTED,
}


@dataclass(frozen=True)
class Tried:
    """One try to take something back that is proof of how it went: when, in which version, against which address."""

    came: Came
    at: datetime
    version: int
    base_url: str = ""


@dataclass(frozen=True)
class Evidence:
    """What is known of one tool's tries: the last that came to something, when one last worked, what it writes here."""

    last: Tried | None = None
    worked: Tried | None = None
    types: Sequence[str] = ()


NOTHING = Evidence()


@dataclass(frozen=True)
class Proof:
    """Whether a tool's way back is there, takes effect, and how far it gets; nothing is proven by declaring it."""

    contract: Contract
    number: int
    target: Target | None
    evidence: Evidence = NOTHING

    @cached_property
    def entry(self) -> proofwords.Entry:
        """Say whether there is an entry point."""
        contract, target = self.contract, self.target
        return proofwords.entry(
            proofwords.EntryFacts(
                revoke_class=contract.revoke_class,
                reason=contract.reason,
                served=[type_ for type_ in self.evidence.types if type_ in ADAPTERS],
                unserved=[type_ for type_ in self.evidence.types if type_ not in ADAPTERS],
                operations=list(contract.compensations),
                target=target.name if target else contract.target,
                registered=target is not None and target.registered_at is not None,
                disabled=target is not None and target.disabled_at is not None,
                refused=_refused(target) if target and target.registered_at else "",
            )
        )

    @property
    def came(self) -> Came:
        """Return what the last try came to."""
        return self.evidence.last.came if self.evidence.last else Came.NEVER

    @property
    def is_sandbox(self) -> bool:
        """Say whether the last try went to a system on this machine: real ones may differ."""
        return self.evidence.last is not None and is_this_machine(self.evidence.last.base_url)

    @property
    def is_proven(self) -> bool:
        """Say whether the last try worked, as it is declared now, and not against a sandbox only."""
        last = self.evidence.last
        return last is not None and last.came is Came.WORKED and last.version == self.number and not self.is_sandbox

    @property
    def outcome(self) -> words.Words:
        """Say whether it takes effect: what the last try came to."""
        last = self.evidence.last
        return proofwords.outcome(
            proofwords.OutcomeFacts(
                revoke_class=self.contract.revoke_class,
                came=self.came,
                date=date_text(last.at) if last else "",
                at=last.at if last else None,
                sandbox=self.is_sandbox,
                other=str(last.version) if last and last.version != self.number else "",
            )
        )

    @property
    def before(self) -> words.Words | None:
        """Say when it worked, where the last try did not."""
        if self.came in {Came.NEVER, Came.WORKED}:
            return None
        return proofwords.before(date_text(self.evidence.worked.at) if self.evidence.worked else "")

    @property
    def _reach(self) -> tuple[proofwords.Reach, words.Words]:
        callback = bool(self.target and self.target.callback_secret)
        return proofwords.reach(self.contract.revoke_class, callback=callback, status=self.contract.status)

    @property
    def reach(self) -> proofwords.Reach:
        """Return how far a revoke gets by itself."""
        return self._reach[0]

    @property
    def reach_words(self) -> words.Words:
        """Say how far a revoke gets, and by what its end would be known."""
        return self._reach[1]


def _refused(target: Target) -> str:
    """Return why the host of a target may not be called by now, as far as its spelling tells; no name is looked up."""
    try:
        check_written(target.base_url, allowed=settings.TARGET_HOSTS)
    except HostRefusedError as error:
        return f"{urlsplit(target.base_url).hostname}: {error.why}"
    return ""


# -- Gathered, for all tools of a page ------------------------------------------------------------------------------


def of(versions: Iterable[ToolVersion]) -> dict[int, Proof]:
    """Return the proof of each version by its key, in a fixed number of queries; `target` is joined."""
    rows = list(versions)
    known = evidence_of({row.tool_id for row in rows})
    return {
        row.pk: Proof(Contract.from_json(row.contract), row.number, row.target, known.get(row.tool_id, NOTHING))
        for row in rows
    }


def evidence_of(tools: Iterable[int]) -> dict[int, Evidence]:
    """Return what is known of the tries of each of these tools, in four queries."""
    asked = Request.objects.filter(tool_version__tool=OuterRef("pk"), state__in=list(_CAME)).order_by(
        "-state_at", "-pk"
    )
    here = Revocation.objects.filter(
        group__tool_version__tool=OuterRef("pk"), outcomes__outcome=Outcome.REVOKED
    ).order_by("-pk")
    called = Group.objects.filter(tool_version__tool=OuterRef("pk"), landed_at__isnull=False).order_by("-pk")
    rows = Tool.objects.filter(pk__in=list(tools)).annotate(
        last=Subquery(asked.values("pk")[:1]),
        told=Subquery(asked.filter(state=EffectState.COMPENSATED).values("pk")[:1]),
        here=Subquery(here.values("pk")[:1]),
        called=Subquery(called.values("pk")[:1]),
    )
    found: list[Any] = list(rows)
    requests = _requests({key for row in found for key in (row.last, row.told) if key})
    revocations = _revocations({row.here for row in found if row.here})
    types = _types({row.called for row in found if row.called})
    return {
        row.pk: _evidence(
            [requests.get(row.last), revocations.get(row.here)],
            [requests.get(row.told), revocations.get(row.here)],
            types[row.called],
        )
        for row in found
    }


def _evidence(last: Sequence[Tried | None], worked: Sequence[Tried | None], types: Sequence[str]) -> Evidence:
    newest, good = ([one for one in tried if one] for tried in (last, worked))
    return Evidence(
        last=max(newest, key=lambda one: one.at, default=None),
        worked=max(good, key=lambda one: one.at, default=None),
        types=types,
    )


def _requests(keys: Iterable[Any]) -> dict[Any, Tried]:
    rows = Request.objects.filter(pk__in=list(keys)).select_related("tool_version", "target")
    return {
        row.pk: Tried(_CAME[EffectState(row.state)], row.state_at, row.tool_version.number, row.target.base_url)
        for row in rows
    }


def _revocations(keys: Iterable[Any]) -> dict[Any, Tried]:
    rows = Revocation.objects.filter(pk__in=list(keys)).values_list("pk", "asked_at", "group__tool_version__number")
    return {key: Tried(Came.WORKED, at, number) for key, at, number in rows}


def _types(groups: Iterable[Any]) -> Mapping[Any, list[str]]:
    """Return the types of local objects that each of these calls wrote."""
    found: dict[Any, list[str]] = defaultdict(list)
    local = Effect.objects.filter(group__in=list(groups), revoke_class=RevokeClass.LOCAL).order_by()
    for group, type_ in sorted(local.values_list("group", "type").distinct()):
        found[group].append(type_)
    return found


# -- As pages and API show them -------------------------------------------------------------------------------------


@dataclass
class ToolView:
    """A tool in the version in force, as pages and API show it."""

    row: ToolVersion
    proof: Proof

    @property
    def contract(self) -> Contract:
        """Return what it declares."""
        return self.proof.contract

    @property
    def name(self) -> str:
        """Return the tool's name."""
        return self.row.tool.name

    @property
    def target(self) -> str | None:
        """Return the target's name."""
        return self.row.target.name if self.row.target else None

    @property
    def runs(self) -> str:
        """Return where it is executed: here, or elsewhere by agents that report it."""
        registered = REGISTRY.get(self.name)
        return "here" if registered is not None and registered.function is not None else "elsewhere"

    @property
    def is_code(self) -> bool:
        """Say whether this program declares it, so that nobody can on a page."""
        return self.name in REGISTRY


def tools_of(rows: Iterable[Any]) -> list[ToolView]:
    """Return the tools that `queries.tools` found, in a fixed number of queries."""
    versions = list(rows)
    proofs = of(versions)
    return [ToolView(row, proofs[row.pk]) for row in versions]


def tools() -> list[ToolView]:
    """Return every tool that was ever declared, by name."""
    return tools_of(queries.tools().order_by("tool__name"))


def of_group(group: Group) -> Proof | None:
    """Return the proof of the tool that a group was written by, by the contract pinned to it; None where unknown."""
    return of_groups([group]).get(group.tool_version_id or 0)


def of_groups(groups: Iterable[Group]) -> dict[int, Proof]:
    """Return the proofs of the tools that these groups were written by, by the key of the version pinned to each."""
    keys = {group.tool_version_id for group in groups if group.tool_version_id}
    return of(ToolVersion.objects.filter(pk__in=keys).select_related("target"))


def targets() -> QuerySet[Any]:
    """Return every system that is known, by name, with how many objects it holds and how many requests wait there."""
    held = Effect.objects.filter(target=OuterRef("pk")).order_by().values("target").annotate(number=Count("pk"))
    asked = Request.objects.filter(target=OuterRef("pk"), current=True, state__in=unresolved.STATES)
    open_ = asked.order_by().values("target").annotate(number=Count("pk"))
    suspended = open_.filter(suspended_at__isnull=False)
    return (
        queries.targets()
        .annotate(
            held=Coalesce(Subquery(held.values("number")), 0),
            waiting=Coalesce(Subquery(open_.values("number")), 0),
            suspended=Coalesce(Subquery(suspended.values("number")), 0),
        )
        .order_by("name")
    )
