"""Which plans, keys and executions are there? Read only."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from plans import policies
from plans.core.lifecycle import ExecutionState
from plans.core.script import RunState
from plans.core.verdict import Verdict, validate
from plans.models import AgentKey, Execution, PlanSubmission
from sideeffects.actors import Actor
from sideeffects.models import ToolVersion
from sideeffects.people import PAGE, Page
from sideeffects.policies import NotFoundError
from sideeffects.tools import REGISTRY

SOME = 20  # executions on a page: each is judged by the clock
MOST_ASKED = 200


def listed(by: Actor) -> QuerySet[PlanSubmission]:
    """Return the plans that an actor may see, without what a list does not show."""
    rows = policies.visible_plans(by).select_related("owner", "agent")
    return rows.defer("body", "violations", "warnings")


def plans(*, by: Actor, before: Any = None, accepted: bool | None = None, size: int = PAGE) -> Page:
    """Return the plans that an actor may see, newest first."""
    rows = listed(by).order_by("-pk")
    if accepted is not None:
        rows = rows.filter(accepted=accepted)
    found = list((rows.filter(pk__lt=before) if before else rows)[: size + 1])
    return Page(found[:size], found[size - 1].pk if len(found) > size else None)


def plan(*, key: UUID, by: Actor) -> PlanSubmission:
    """Return one plan; raises NotFoundError."""
    row = policies.visible_plans(by).select_related("owner", "agent").filter(pk=key).first()
    if row is None:
        raise NotFoundError("plan", str(key))
    return row


def verdict_of(row: PlanSubmission) -> Verdict:
    """Judge a stored plan again as of the moment it was judged: picture, digest and fixes follow from its bytes.

    Keys may have changed since, so what is known of the signature is what the row says.
    """
    profile: Any = row.profile
    return validate(bytes(row.body), now=row.judged_at, profile=profile)


def keys_in_use() -> Mapping[str, Sequence[bytes]]:
    """Return the public keys that signatures are checked against, by the agent's name."""
    found: dict[str, list[bytes]] = {}
    for name, key in AgentKey.objects.filter(withdrawn_at=None).values_list("agent__name", "public_key"):
        found.setdefault(name, []).append(bytes(key))
    return found


def human_tools(tools: Collection[str]) -> set[str]:
    """Return which of these tools are registered as a person's: their steps wait for one."""
    own = {name for name in tools if name in REGISTRY}
    rows = ToolVersion.objects.filter(tool__name__in=set(tools) - own).order_by("number")
    newest: dict[str, Any] = dict(rows.values_list("tool__name", "contract"))
    declared = {name for name, contract in newest.items() if contract.get("human")}
    return declared | {name for name in own if REGISTRY[name].contract.human}


def executions(by: Actor) -> QuerySet[Execution]:
    """Return the executions that an actor may see, newest first."""
    return policies.visible_executions(by).select_related("plan", "owner", "agent").order_by("-pk")


def executions_page(*, by: Actor, before: Any = None, plan: UUID | None = None, size: int = SOME) -> Page:
    """Return the executions that an actor may see, of one plan or of all."""
    rows = executions(by) if plan is None else executions(by).filter(plan=plan)
    found = list((rows.filter(pk__lt=before) if before else rows)[: size + 1])
    return Page(found[:size], found[size - 1].pk if len(found) > size else None)


def executions_waiting(*, by: Actor, owner: Any = None) -> list[Execution]:
    """Return the running executions in which a person is asked: of one owner, or all that an actor may see."""
    asked = {"runs__human": True, "runs__state": RunState.BEGUN, "state": ExecutionState.RUNNING}
    rows = executions(by).filter(**asked)
    return list((rows if owner is None else rows.filter(owner=owner)).distinct()[:MOST_ASKED])


def execution(*, key: UUID, by: Actor) -> Execution:
    """Return one execution; raises NotFoundError."""
    row = executions(by).filter(pk=key).first()
    if row is None:
        raise NotFoundError("execution", str(key))
    return row
