"""May this person, or this agent, propose and see plans?"""

from django.db.models import QuerySet

from plans.models import PlanSubmission
from sideeffects.actors import Actor
from sideeffects.policies import ForPersonsOnlyError, ScopeMissingError


def check_may_propose(by: Actor) -> None:
    """Let through persons for themselves, agents with the scope `propose`; raises what tells it best."""
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
