"""May this plan run? Bytes and a moment in, everything there is to say out."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

from msgspec import UNSET

from plans.core import (
    artifact,
    canonical,
    cautions,
    counterexample,
    fixes,
    rules,
    screen,
    sentences,
    shape,
    signature,
    timeline,
)
from plans.core.columns import Columns, Finding
from plans.core.counterexample import Counterexample
from plans.core.fixes import Fix
from plans.core.sentences import Remark
from plans.core.timeline import Timeline
from plans.core.words import inert

Profile = Literal["default", "strict"]
PROFILES: tuple[str, ...] = get_args(Profile)
Keys = Mapping[str, Sequence[bytes]]  # an agent's name -> its registered public keys, 32 bytes each
ASSUMPTIONS = (
    "Steps follow one another without a gap: a wait between two steps has to be declared as part of one of them.",
)


def validate(
    data: bytes, *, now: datetime, profile: Profile = "default", keys: Keys | None = None, signed: bool = False
) -> "Verdict":
    """Judge a plan at an instant (with its offset), collecting every violation and warning.

    `keys` are the registered public keys a signature is checked against; `signed` refuses a plan without a signature
    that verifies. Raises nothing about the plan: whatever is wrong with it is in the verdict.
    """
    return Verdict(data, now, profile, keys, signed)


class Verdict:
    """What is known of a plan. `ok` is settled at once; warnings, digest, timeline and fixes when asked for."""

    # What is settled at once lies in slots; the dictionary for the rest is made when something is asked for.
    __slots__ = ("__dict__", "_broken", "data", "faults", "keys", "now", "ok", "plan", "profile", "signed")

    def __init__(self, data: bytes, now: datetime, profile: Profile, keys: Keys | None, signed: bool) -> None:  # noqa: FBT001  (by place for speed; `validate` takes it by name)
        self.data, self.now, self.profile, self.keys, self.signed = data, now, profile, keys, signed
        self.faults: Sequence[Remark] = ()
        self._broken: Sequence[Finding] = ()
        self.plan = plan = artifact.decode(data)
        self.ok = True
        if plan is None or not screen.is_sound(data, plan, now):
            self._judge()
            self.ok = not (self._broken or self.faults)
        if profile == "strict" and self._noted:
            self.ok = False
        if (keys is not None or signed) and self._objections:
            self.ok = False

    def _judge(self) -> None:
        if self.plan is None or not artifact.kept_every_member(self.data, self.plan):
            self.plan, self.faults = shape.read(self.data)
        if self.columns is not None:
            told = {fault.code for fault in self.faults}
            self._broken = [finding for finding in rules.violations(self.columns) if finding[0] not in told]

    @cached_property
    def columns(self) -> Columns | None:
        """The plan as the rules read it; None where it could not be read."""
        return None if self.plan is None else Columns(self.plan, self.now)

    @cached_property
    def _noted(self) -> Sequence[Finding]:
        return [] if self.columns is None else cautions.warnings(self.columns)

    @cached_property
    def violations(self) -> list[Remark]:
        """Every reason to refuse the plan: faults of shape, broken rules, and under `strict` the warnings."""
        strict = self._noted if self.profile == "strict" else ()
        return [*self.faults, *self._said(self._broken), *self._objections, *self._said(strict)]

    @cached_property
    def warnings(self) -> list[Remark]:
        """What an accepted plan still leaves open; under `strict` these are violations."""
        return [] if self.profile == "strict" else self._said(self._noted)

    def _said(self, findings: Sequence[Finding]) -> list[Remark]:
        return [sentences.say(self.columns, finding) for finding in findings] if self.columns else []

    @cached_property
    def tree(self) -> dict[str, Any] | None:
        """The plan as plain data, exactly the members that were written; None where its shape is at fault."""
        at_fault = self.plan is None or any(fault.code not in shape.READABLE for fault in self.faults)
        return None if at_fault else json.loads(self.data)

    @cached_property
    def digest(self) -> str | None:
        """SHA-256 of the canonical plan without its signature; None where the shape is at fault."""
        return None if self.tree is None else canonical.digest(self.tree)

    @cached_property
    def signature(self) -> str:
        """What is known of the signature: unsigned, verified, wrong, or unchecked."""
        if self.tree is None or "signature" not in self.tree:
            return "unsigned"
        known = (self.keys or {}).get(self.agent or "", ())
        if not known:
            return "unchecked"
        right = signature.verifies(canonical.plan_bytes(self.tree), self.tree["signature"], known)
        return "verified" if right else "wrong"

    @property
    def agent(self) -> str | None:
        """The agent the plan names as its author."""
        author = UNSET if self.plan is None else self.plan.authored_by
        return None if author is UNSET else author.agent

    @cached_property
    def _objections(self) -> list[Remark]:
        who = inert(self.agent or "its author")
        if self.tree is None:
            return []
        if self.signature == "wrong":
            text = f"The signature was not made over these bytes by a registered key of {who}."
        elif self.signed and self.signature == "unsigned":
            text = "The plan is unsigned; only signed plans are accepted here."
        elif self.signed and self.signature == "unchecked":
            text = f"Only signed plans are accepted here, and no public key of {who} is registered."
        else:
            return []
        return [Remark("signature", ("signature",), text, "signature")]

    @cached_property
    def filled_in(self) -> list[str]:
        """What the plan left out, and what is taken in its place."""
        if self.plan is None or self.tree is None:
            return []
        said = []
        if self.plan.plan_version is UNSET:
            said.append("planVersion is absent: taken as version 1.")
        if self.plan.authored_by is UNSET:
            said.append("authoredBy is absent: the authenticated agent is taken as the author.")
        if self.plan.signature is UNSET:
            said.append("signature is absent: the plan is unsigned.")
        missing = [inert(step.id) for step in self.plan.steps if step.idempotency_key is UNSET]
        if missing:
            some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")  # noqa: PLR2004  (enough to recognise them)
            said.append(f"idempotencyKey is absent in {some}: derived as sagaId:stepId.")
        return said

    @cached_property
    def timeline(self) -> Timeline | None:
        """The numbers a picture needs."""
        return None if self.columns is None else timeline.of(self.columns)

    @cached_property
    def counterexample(self) -> Counterexample | None:
        """A healthy execution in which a window closes before the pivot begins, if there is one."""
        return None if self.columns is None else counterexample.of(self.columns)

    @cached_property
    def fixes(self) -> list[Fix]:
        """Small sets of edits, each of which makes the plan valid under the profile in use."""
        if self.ok or self.tree is None or self.columns is None:
            return []
        return [fix for fix in fixes.candidates(self.columns, self.tree, self.profile) if self._accepts(fix)]

    def _accepts(self, fix: Fix) -> bool:
        # A changed plan has to be signed again, which a fix cannot do: that is said, not held against it.
        return validate(fix.plan_bytes, now=self.now, profile=self.profile).ok
