"""How does a plan get from an author into the record, accepted or refused?"""

import hashlib
from collections import Counter
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from audit import log
from plans import policies, queries
from plans.core import artifact, report
from plans.core.verdict import Profile, Verdict, validate
from plans.core.words import inert
from plans.models import PlanSubmission
from sideeffects.actors import Actor, party_of

LISTED = 1_000  # remarks kept of one kind; a plan of ten thousand steps may deserve more of them than anyone reads


class PlanTooLargeError(Exception):
    """The plan is larger than is read, so it is not kept either."""

    def __init__(self, size: int) -> None:
        self.size, self.limit = size, artifact.MAX_BYTES
        super().__init__(f"A plan may have {artifact.MAX_BYTES} bytes.")


class PlanRefusedError(Exception):
    """The plan was refused; it is kept as `plan`, with what is wrong with it."""

    def __init__(self, row: PlanSubmission) -> None:
        self.plan, self.digest, self.signature = str(row.pk), row.digest or None, row.signature
        self.violations, self.warnings = row.violations, row.warnings
        super().__init__(f"{len(row.violations)} reasons; the plan is kept.")


def judge(*, body: bytes, now: datetime, profile: Profile = "default") -> Verdict:
    """Judge a plan as this deployment does, with the keys registered here; keeps nothing."""
    return validate(body, now=now, profile=profile, keys=queries.keys_in_use(), signed=settings.PLANS_MUST_BE_SIGNED)


def submit(*, body: bytes, by: Actor, now: datetime, profile: Profile = "default") -> tuple[PlanSubmission, bool]:
    """Judge a plan and keep it with its verdict, accepted or refused; return it, and whether it is new.

    The same bytes from the same author, found to be the same as last time, are the same proposal: nothing is written.
    Raises ScopeMissingError, ForPersonsOnlyError, PlanTooLargeError.
    """
    policies.check_may_propose(by)
    if len(body) > artifact.MAX_BYTES:
        raise PlanTooLargeError(len(body))
    verdict = judge(body=body, now=now, profile=profile)
    row = _row(body, verdict, by=by)
    with transaction.atomic():
        # Two equal proposals wait for one another.
        get_user_model()._default_manager.select_for_update().get(pk=by.user.pk)
        last = _last(row)
        if last is not None and _found(last) == _found(row):
            return last, False
        row.save(force_insert=True)
        log.append([_entry(row, verdict, by=by)], now=now)
    return row, True


def _row(body: bytes, verdict: Verdict, *, by: Actor) -> PlanSubmission:
    plan = verdict.plan
    comment, version = (plan.comment, plan.plan_version) if plan else ("", None)
    return PlanSubmission(
        owner=by.user,
        agent=by.token.agent if by.token else None,
        body=body,
        body_sha256=hashlib.sha256(body).hexdigest(),
        digest=verdict.digest or "",
        saga=inert(plan.saga_id) if plan else "",
        title=inert(comment) if isinstance(comment, str) else "",
        version=version if isinstance(version, int) else None,
        author=inert(verdict.agent or ""),
        signature=verdict.signature,
        profile=verdict.profile,
        accepted=verdict.ok,
        violations=report.remarks(verdict.violations[:LISTED]),
        warnings=report.remarks(verdict.warnings[:LISTED]),
        judged_at=verdict.now,
    )


def _last(row: PlanSubmission) -> PlanSubmission | None:
    same = {"owner": row.owner, "agent": row.agent, "body_sha256": row.body_sha256, "profile": row.profile}
    return PlanSubmission.objects.filter(**same).order_by("-pk").first()


def _found(row: PlanSubmission) -> tuple[Any, ...]:
    # What a sentence says of the time that is left changes every second; rule and place do not.
    places = [(remark["rule"], remark["path"]) for remark in [*row.violations, *row.warnings]]
    return row.accepted, row.signature, places


def _entry(row: PlanSubmission, verdict: Verdict, *, by: Actor) -> log.Entry:
    return log.Entry(
        action="plan_accepted" if row.accepted else "plan_refused",
        target=("plan", str(row.pk)),
        actor=by.party,
        owner=party_of(by.user),
        data={
            "saga": row.saga,
            "digest": row.digest,
            "body_sha256": row.body_sha256,
            "signature": row.signature,
            "profile": row.profile,
            "rules": {rule: str(count) for rule, count in Counter(one.rule for one in verdict.violations).items()},
            "warnings": str(len(verdict.warnings)),
        },
        outcome="accepted" if row.accepted else "refused",
    )
