"""Begin to carry out an accepted plan: one execution at a time, bound to the plan's digest."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction

from audit import log
from plans import courses, policies, queries
from plans.core.lifecycle import ExecutionState
from plans.core.verdict import Verdict
from plans.models import Execution, PlanSubmission
from plans.services.entries import entry
from sideeffects.actors import Actor


class PlanNotAcceptedError(Exception):
    """A plan that was refused is not carried out."""

    def __init__(self, plan: PlanSubmission) -> None:
        self.plan = str(plan.pk)
        super().__init__("This plan was refused, so nothing of it may run.")


class PlanExpiredError(Exception):
    """The plan's mandate has ended before anything of it ran."""

    def __init__(self, plan: PlanSubmission, expired_at: datetime) -> None:
        self.plan, self.expired_at = str(plan.pk), expired_at
        super().__init__(f"The mandate of this plan ended at {expired_at:%Y-%m-%d %H:%M:%S} UTC.")


def start(*, plan: UUID, by: Actor, now: datetime, conversation: str = "", run: str = "") -> tuple[Execution, bool]:
    """Return the execution of an accepted plan, and whether it is new; one that is not rolled back is the one.

    Raises NotFoundError, ForAgentsOnlyError, ScopeMissingError, PlanNotAcceptedError, PlanChangedError,
    PlanExpiredError. Writes `execution_started`.
    """
    with transaction.atomic():
        row = queries.plan(key=plan, by=by)
        policies.check_may_start(by, row)
        # Equal plans share one mandate, so whoever starts one waits for whoever starts another.
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=row.owner_id)
        verdict = queries.verdict_of(row)
        if not row.accepted:
            raise PlanNotAcceptedError(row)
        if verdict.digest != row.digest:
            raise courses.PlanChangedError(row.digest, verdict.digest or "", step="")
        known = Execution.objects.filter(owner=row.owner, digest=row.digest).exclude(state=ExecutionState.ROLLED_BACK)
        if (found := known.select_related("plan", "owner", "agent").first()) is not None:
            policies.check_may_carry_out(by, found)
            return found, False
        _check_not_expired(row, verdict, now)
        assert by.token is not None
        new = Execution.objects.create(
            plan=row,
            digest=row.digest,
            owner=row.owner,
            agent=by.token.agent,
            conversation=conversation or row.saga,
            run=run,
            state=ExecutionState.RUNNING,
            started_at=now,
            started_by=str(by.party),
        )
        course = courses.of(new)
        data = {
            "plan": str(row.pk),
            "saga": row.saga,
            "digest": row.digest,
            "steps": str(len(course.script.steps)),
        }
        log.append([entry("execution_started", course, data, by=by)], now=now)
    return new, True


def _check_not_expired(row: PlanSubmission, verdict: Verdict, now: datetime) -> None:
    expires = verdict.columns.expires if verdict.columns else None
    if expires is not None and now >= expires:
        raise PlanExpiredError(row, expires)
