"""How does an agent carry out its plan, and how do a person and a program follow it?"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from plans import outlook, queries
from plans.core.artifact import SAFE_INTEGER
from plans.core.lifecycle import ExecutionState
from plans.courses import Course
from plans.models import Execution
from plans.outlook import Outlook, StepView
from plans.services.begin import begin
from plans.services.complete import complete
from plans.services.decide import approve, decline
from plans.services.fail import fail
from plans.services.rollback import rollback
from plans.services.start import start
from sideeffects.actors import Actor
from sideeffects.api.bodies import LONGEST, LONGEST_REASON, MOST_EFFECTS, DeclaredBody, ReasonBody, declared
from sideeffects.api.schema import LOCATION_HEADER, does, reads
from sideeffects.api.shapes import Shape, one_of
from sideeffects.api.strict import Name, Strict, Text

MOST_PLACES = 12


# -- What is sent -------------------------------------------------------------------------------------------------


@extend_schema_field({"type": "number", "minimum": 0, "maximum": SAFE_INTEGER})
class Euros(serializers.Field[Decimal, Any, float, Any]):
    """An amount of money as a JSON number."""

    def to_internal_value(self, data: Any) -> Decimal:
        """Return the decimal that was written; raises ValidationError."""
        if isinstance(data, bool) or not isinstance(data, int | float) or not 0 <= data <= SAFE_INTEGER:
            raise serializers.ValidationError(f"A number of euros from 0 to {SAFE_INTEGER}.")
        amount = Decimal(repr(data))
        if -int(amount.normalize().as_tuple().exponent) > MOST_PLACES:
            raise serializers.ValidationError(f"At most {MOST_PLACES} decimal places.")
        return amount

    def to_representation(self, value: Decimal) -> float:
        """Return the number."""
        return float(value)


@extend_schema_field({"type": "number"})
class Amount(Euros):
    """An amount that is answered; below nothing where more was spent than there was."""


@extend_schema_field({"type": ["number", "null"]})
class AmountOrNone(Euros):
    """An amount that is answered, where there is one."""


class StartBody(Strict):
    """To which talk and run the execution belongs."""

    conversation = Name(max_length=LONGEST, required=False, help_text="Left out, it is the saga's name.")
    run = Name(max_length=LONGEST, required=False, allow_blank=True)


class BeginBody(Strict):
    """What the agent holds; where it is not what the execution is bound to, the step does not begin."""

    digest = Text(max_length=64, required=False, help_text="The digest of the plan as the agent holds it.")
    step = serializers.DictField(required=False, help_text="The step as the agent holds it.")


class CompleteBody(Strict):
    """What the step wrote, principal first."""

    effects = DeclaredBody(  # type: ignore[call-arg]  # (many=True takes it)
        many=True,
        max_length=MOST_EFFECTS,
        required=False,
        help_text="Left out only where the call was recorded under the step's key before.",
    )
    arguments = serializers.DictField(required=False, help_text="As the tool was called; kept as a digest only.")
    spent_eur = Euros(required=False, help_text="Left out, what was reserved counts as spent.")

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for."""
        said = dict(self.validated_data)
        effects = declared(said.pop("effects")) if "effects" in said else None
        return {"effects": effects, "arguments": said.get("arguments"), "spent": said.get("spent_eur")}


class FailBody(Strict):
    """Why the step failed."""

    reason = Text(max_length=LONGEST_REASON, required=False, allow_blank=True, default="")
    spent_eur = Euros(required=False, help_text="What it has spent all the same; left out, nothing.")


class DecideBody(Strict):
    """Why, and what the person had before them: a decision holds for exactly that."""

    reason = Text(max_length=LONGEST_REASON, required=False, allow_blank=True, default="")
    approval = serializers.UUIDField(required=False)
    digest = Text(max_length=64, required=False)
    step_sha256 = Text(max_length=64, required=False)

    def asked(self) -> dict[str, Any]:
        """Return what the service is asked for."""
        return {{"step_sha256": "sha256"}.get(name, name): value for name, value in self.validated_data.items()}


# -- What is answered ---------------------------------------------------------------------------------------------


class ApprovalSerializer(Shape):
    """A person who is asked, and what they decided."""

    id = serializers.UUIDField(source="approval.pk")
    digest = serializers.CharField(source="approval.digest")
    step_sha256 = serializers.CharField(source="approval.step_sha256")
    asked_at = serializers.DateTimeField(source="approval.asked_at")
    deadline = serializers.DateTimeField(source="approval.deadline")
    open = serializers.BooleanField(
        source="is_open", help_text="whether a decision still counts, by the server's clock"
    )
    decision = serializers.CharField(source="decision.verdict", allow_null=True, default=None)
    decided_at = serializers.DateTimeField(source="decision.decided_at", allow_null=True, default=None)
    decided_by = serializers.CharField(source="decision.decided_by", allow_null=True, default=None)
    reason = serializers.CharField(source="decision.reason", allow_null=True, default=None)


class StepSerializer(Shape):
    """One step and the newest try of it."""

    id = serializers.CharField(source="step.id")
    index = serializers.IntegerField(source="step.index")
    tool = serializers.CharField(source="step.tool")
    step_class = serializers.CharField(source="step.kind")
    pivot = serializers.BooleanField(source="is_pivot")
    human = serializers.BooleanField(source="step.human", help_text="whether it waits for a person")
    state = serializers.ChoiceField(
        ["not begun", "begun", "waiting", "completed", "failed", "declined", "withdrawn"],
        help_text="by the agent's word, or a person's decision",
    )
    idempotency_key = serializers.CharField(source="key", help_text="the key of its calls in this execution")
    attempt = serializers.IntegerField(source="run.attempt", allow_null=True, default=None)
    begun_at = serializers.DateTimeField(source="run.begun_at", allow_null=True, default=None)
    due_at = serializers.DateTimeField(source="run.due_at", allow_null=True, default=None)
    ended_at = serializers.DateTimeField(source="run.ended_at", allow_null=True, default=None)
    overdue = serializers.BooleanField(help_text="whether it takes, or took, longer than declared")
    undo_expires_at = serializers.DateTimeField(source="run.undo_expires_at", allow_null=True, default=None)
    seconds_left = serializers.IntegerField(allow_null=True, help_text="of its undo window, by the server's clock")
    reserved_eur = AmountOrNone(source="run.reserved", default=None)
    spent_eur = AmountOrNone(source="run.spent", default=None)
    reason = serializers.CharField(source="run.reason", default="", help_text="the agent's or the person's words")
    group = serializers.UUIDField(source="run.group_id", allow_null=True, default=None)
    group_words = serializers.CharField(
        source="view.state_words", allow_null=True, default=None, help_text="where what it wrote stands now"
    )
    approval = serializers.SerializerMethodField()
    undone = serializers.CharField(
        source="run.undone", default="", help_text="what undoing it came to, as answered then"
    )
    undone_at = serializers.DateTimeField(source="run.undone_at", allow_null=True, default=None)
    undone_detail = serializers.CharField(source="run.undone_detail", default="")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call the class `class`, which Python keeps for itself."""
        return {{"step_class": "class"}.get(name, name): field for name, field in super().get_fields().items()}

    @extend_schema_field(ApprovalSerializer(allow_null=True))
    def get_approval(self, view: StepView) -> Any:
        """Return who is asked, where somebody is."""
        return ApprovalSerializer(view).data if view.approval else None


class BlockSerializer(Shape):
    """Why the next step may not begin."""

    refusal = serializers.CharField()
    detail = serializers.CharField()
    window = serializers.CharField(allow_null=True, help_text="the step whose undo window closes next")
    closes_at = serializers.DateTimeField(allow_null=True)


class ClosingSerializer(Shape):
    """The undo window that closes next."""

    step = serializers.CharField(source="step.id")
    closes_at = serializers.DateTimeField()


class ExecutionSerializer(Shape):
    """An accepted plan being carried out."""

    id = serializers.UUIDField(source="row.pk")
    url = serializers.SerializerMethodField()
    plan = serializers.UUIDField(source="row.plan_id")
    digest = serializers.CharField(source="row.digest", help_text="of the plan that it is bound to")
    saga = serializers.CharField(source="course.script.saga")
    owner = serializers.CharField(source="row.owner.get_username")
    agent = serializers.CharField(source="row.agent.name")
    conversation = serializers.CharField(source="row.conversation")
    run = serializers.CharField(source="row.run")
    state = one_of(ExecutionState)
    standing = serializers.CharField(
        help_text="its state, or what the clock makes of it: blocked, waiting for a person"
    )
    words = serializers.CharField()
    now = serializers.DateTimeField(source="at", help_text="the server's time, by which everything here is counted")
    started_at = serializers.DateTimeField(source="row.started_at")
    ended_at = serializers.DateTimeField(source="row.ended_at", allow_null=True)
    blocked = BlockSerializer(source="block", allow_null=True)
    next_step = serializers.CharField(source="next.step.id", allow_null=True, default=None)
    begin_by = serializers.DateTimeField(allow_null=True, help_text="until when the next step may begin")
    warnings = serializers.ListField(source="cautions", child=serializers.CharField(), help_text="before the next step")
    next_to_close = ClosingSerializer(source="closing", allow_null=True)
    perishing_since = serializers.DateTimeField(allow_null=True)
    unrecoverable_since = serializers.DateTimeField(allow_null=True)
    pivot_crossed = serializers.BooleanField(source="course.pivot_crossed")
    cap_eur = Amount(source="course.script.cap")
    held_eur = Amount(source="held", help_text="reserved or spent")
    remaining_eur = Amount(source="remaining")
    expires_at = serializers.DateTimeField(source="course.script.expires_at")
    rollback_at = serializers.DateTimeField(source="row.rollback_at", allow_null=True)
    rollback_by = serializers.CharField(source="row.rollback_by")
    rollback_reason = serializers.CharField(source="row.rollback_reason")
    steps = StepSerializer(many=True)

    def get_url(self, view: Outlook) -> str:
        """Return its address."""
        return reverse("api-execution", args=[view.row.pk])


# -- Views --------------------------------------------------------------------------------------------------------


def _asker(request: Request) -> tuple[Actor, datetime]:
    return request.actor, timezone.now()  # type: ignore[attr-defined]  # noqa: TID251  (a face; TablePermission says who asks)


def _shown(row: Execution, by: Actor, now: datetime) -> Any:
    return ExecutionSerializer(outlook.one(row, by=by, now=now)).data


class Executions(APIView):
    """The carrying out of one plan."""

    @does(StartBody, {200: ExecutionSerializer, 201: ExecutionSerializer}, 409, parameters=[LOCATION_HEADER])
    def post(self, request: Request, plan: UUID) -> Response:
        """Begin to carry out an accepted plan; while one execution of it is not rolled back, it is that one."""
        by, now = _asker(request)
        body = StartBody(data=request.data)
        body.is_valid(raise_exception=True)
        row, new = start(plan=plan, by=by, now=now, **body.validated_data)
        answer = _shown(row, by, now)
        return Response(answer, 201, headers={"Location": answer["url"]}) if new else Response(answer)


class OneExecution(APIView):
    """One execution."""

    @reads(ExecutionSerializer)
    def get(self, request: Request, execution: UUID) -> Response:
        """Return how it stands by the server's clock: what has run, what is open, what closes next."""
        by, now = _asker(request)
        return Response(_shown(queries.execution(key=execution, by=by), by, now))


def _done(request: Request, verb: Callable[..., Course], **asked: Any) -> Response:
    by, now = _asker(request)
    return Response(_shown(verb(by=by, now=now, **asked).row, by, now))


class Begin(APIView):
    """The gate before a step."""

    @does(BeginBody, {200: ExecutionSerializer}, 409)
    def post(self, request: Request, execution: UUID, step: str) -> Response:
        """Let a step begin, or say why not; a person's step waits for the person from here on."""
        body = BeginBody(data=request.data)
        body.is_valid(raise_exception=True)
        said = body.validated_data
        asked = {"digest": said.get("digest", ""), "presented": said.get("step")}
        return _done(request, begin, execution=execution, step=step, **asked)


class Complete(APIView):
    """The agent's word that a step is completed."""

    @does(CompleteBody, {200: ExecutionSerializer}, 409, 422)
    def post(self, request: Request, execution: UUID, step: str) -> Response:
        """Record what a step wrote as one action; repeated, it is compared with what is held."""
        by, now = _asker(request)
        body = CompleteBody(data=request.data)
        body.is_valid(raise_exception=True)
        course, recorded = complete(execution=execution, step=step, by=by, now=now, **body.asked())
        recorded.check_agrees()
        return Response(_shown(course.row, by, now))


class Fail(APIView):
    """The agent's word that a step failed."""

    @does(FailBody, {200: ExecutionSerializer}, 409)
    def post(self, request: Request, execution: UUID, step: str) -> Response:
        """Fail a step; up to the pivot everything is rolled back, newest first."""
        body = FailBody(data=request.data)
        body.is_valid(raise_exception=True)
        said = body.validated_data
        return _done(request, fail, execution=execution, step=step, reason=said["reason"], spent=said.get("spent_eur"))


class Approve(APIView):
    """A person's yes."""

    @does(DecideBody, {200: ExecutionSerializer}, 409, 422)
    def post(self, request: Request, execution: UUID, step: str) -> Response:
        """Approve a step before its deadline, for exactly the plan and the step that were asked about."""
        body = DecideBody(data=request.data)
        body.is_valid(raise_exception=True)
        return _done(request, approve, execution=execution, step=step, **body.asked())


class Decline(APIView):
    """A person's no."""

    @does(DecideBody, {200: ExecutionSerializer}, 409, 422)
    def post(self, request: Request, execution: UUID, step: str) -> Response:
        """Decline a step; up to the pivot everything is rolled back, newest first."""
        body = DecideBody(data=request.data)
        body.is_valid(raise_exception=True)
        return _done(request, decline, execution=execution, step=step, **body.asked())


class Rollback(APIView):
    """The taking back of everything before the pivot."""

    @does(ReasonBody, {200: ExecutionSerializer}, 409, 422)
    def post(self, request: Request, execution: UUID) -> Response:
        """Roll back, newest first; repeated, it goes on where it was, or tries again what could not be undone."""
        body = ReasonBody(data=request.data)
        body.is_valid(raise_exception=True)
        return _done(request, rollback, execution=execution, **body.validated_data)
