"""May this person, or this agent, propose and see plans, carry them out, decide, and roll back?"""

from django.db.models import QuerySet

from audit.inert import shows_nothing
from plans.models import Execution, PlanSubmission
from sideeffects.actors import Actor
from sideeffects.policies import (
    Authority,
    ForPersonsOnlyError,
    NotFoundError,
    ReadOnlyError,
    ReasonRequiredError,
    ScopeMissingError,
    only_reads,
)


def check_may_propose(by: Actor) -> None:
    """Let through persons for themselves, agents with the scope `propose`; raises what tells it best.

    Who is an auditor and nothing else changes nothing: ReadOnlyError.
    """
    if only_reads(by):
        raise ReadOnlyError
    if by.token is not None and "propose" not in by.token.scopes:
        raise ScopeMissingError("propose")
    if by.user is None:
        raise ForPersonsOnlyError("propose a plan without an owner")


def visible_plans(by: Actor) -> QuerySet[PlanSubmission]:
    """Return the plans that this actor may see: one's own; all for admin and auditor; an agent's own for an agent."""
    if by.is_admin or by.is_auditor:
        return PlanSubmission.objects.all()
    if by.user is None:
        return PlanSubmission.objects.none()
    own = PlanSubmission.objects.filter(owner=by.user)
    return own if by.token is None else own.filter(agent=by.token.agent_id)


class ForAgentsOnlyError(Exception):
    """Carrying a plan out is an agent's doing."""

    def __init__(self) -> None:
        super().__init__("Steps are carried out by the agent that proposed the plan; a person decides and rolls back.")


def check_may_start(by: Actor, plan: PlanSubmission) -> None:
    """Let through the agent that proposed the plan; raises NotFoundError, ForAgentsOnlyError, ScopeMissingError."""
    if not visible_plans(by).filter(pk=plan.pk).exists():
        raise NotFoundError("plan", str(plan.pk))
    _check_may_execute(by)


def check_may_carry_out(by: Actor, execution: Execution) -> None:
    """Let through the agent of an execution; raises NotFoundError, ForAgentsOnlyError, ScopeMissingError."""
    if not may_see(by, execution):
        raise NotFoundError("execution", str(execution.pk))
    _check_may_execute(by)


def _check_may_execute(by: Actor) -> None:
    if by.token is None:
        raise ForAgentsOnlyError
    if "execute" not in by.token.scopes:
        raise ScopeMissingError("execute")


def check_may_decide(by: Actor, execution: Execution, *, reason: str) -> Authority:
    """Return the authority on which a person approves or declines: the owner's, or an admin's with a reason."""
    if not by.is_person:
        raise ForPersonsOnlyError("approve or decline a step")
    return _persons_authority(by, execution, reason=reason)


def check_may_roll_back(by: Actor, execution: Execution, *, reason: str) -> Authority:
    """Return the authority on which a rollback is asked for: its agent's, the owner's, or an admin's with a reason."""
    if by.token is not None:
        check_may_carry_out(by, execution)
        return Authority.AGENT
    return _persons_authority(by, execution, reason=reason)


def _persons_authority(by: Actor, execution: Execution, *, reason: str) -> Authority:
    if by.owns(execution.owner_id):
        return Authority.OWNER
    if not by.is_admin:
        raise ReadOnlyError if by.is_auditor else NotFoundError("execution", str(execution.pk))
    if shows_nothing(reason):
        raise ReasonRequiredError
    return Authority.ADMIN


def may_decide(by: Actor, execution: Execution) -> bool:
    """Say whether this person may approve, decline and roll back, given a reason where one is needed."""
    return by.is_person and (by.owns(execution.owner_id) or by.is_admin)


def may_see(by: Actor, execution: Execution) -> bool:
    """Say whether this actor may see an execution."""
    if by.is_admin or by.is_auditor:
        return True
    return by.owns(execution.owner_id) and (by.token is None or by.token.agent_id == execution.agent_id)


def visible_executions(by: Actor) -> QuerySet[Execution]:
    """Return the executions that this actor may see: one's own; all for admin and auditor; an agent's own."""
    if by.is_admin or by.is_auditor:
        return Execution.objects.all()
    if by.user is None:
        return Execution.objects.none()
    own = Execution.objects.filter(owner=by.user)
    return own if by.token is None else own.filter(agent=by.token.agent_id)
