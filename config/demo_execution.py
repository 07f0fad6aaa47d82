"""Which story does the demonstration tell of an execution? A person is asked while an undo window is about to close."""

from datetime import datetime, timedelta

from config.demo_targets import CREATE_CONTACT, Stage
from plans import examples
from plans.core.lifecycle import ExecutionState
from plans.models import Execution
from plans.services.begin import begin
from plans.services.complete import complete
from plans.services.start import start
from plans.services.submit import submit
from sideeffects import actors
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from sideeffects.models import AgentToken
from sideeffects.services import record
from sideeffects.services.declare import declare_tool
from sideeffects.services.execute import execute
from sideeffects.tools import REGISTRY
from sideeffects.transitions import Operation

CONVERSATION = "demo: onboarding a vendor"
AGO = timedelta(minutes=34)  # when it began: its first window of 45 minutes is in its last quarter now
FRESH = timedelta(minutes=45)


def tell(token: AgentToken, stage: Stage, *, now: datetime) -> None:
    """Tell it where none is under way; one that nobody decided about in time stays as it is, and shows it."""
    alive = Execution.objects.filter(agent=token.agent, state=ExecutionState.RUNNING, started_at__gt=now - FRESH)
    if alive.exists():
        return
    by, began = actors.agent(token), now - AGO
    declare_tool(name="crm.create_contact", contract=CREATE_CONTACT, by=actors.system("demo"), now=began)
    plan, _ = submit(body=examples.onboarding(began), by=by, now=began)
    row, _ = start(plan=plan.pk, by=by, now=began, conversation=CONVERSATION)
    _vendor(row, by, stage, began=began, done=now - timedelta(minutes=12))
    _note(row, by, began=now - timedelta(minutes=11), done=now - timedelta(minutes=11))
    begin(execution=row.pk, step="approval", by=by, now=now - timedelta(seconds=30))


def _vendor(row: Execution, by: Actor, stage: Stage, *, began: datetime, done: datetime) -> None:
    key = f"v-{row.started_at:%m%d%H%M}"
    words = {"collection": "contacts", "id": key, "owner": by.user.get_username(), "tool": "crm.create_contact"}
    stage.stage("POST", "objects", words)
    begin(execution=row.pk, step="vendor", by=by, now=began)
    effects = [Declared("contact", key, Operation.CREATE, "Northwind Supplies")]
    complete(execution=row.pk, step="vendor", effects=effects, by=by, now=done)


def _note(row: Execution, by: Actor, *, began: datetime, done: datetime) -> None:
    course = begin(execution=row.pk, step="note", by=by, now=began)
    call = record.ToolCall(
        tool="note.create",
        arguments={"title": "Northwind Supplies", "body": "To be approved before the fee is paid."},
        conversation=CONVERSATION,
        execution=str(row.pk),
        step="note",
        idempotency_key=course.key(course.step("note")),
    )
    execute(tool=REGISTRY["note.create"], call=call, owner=by.user, by=by, now=done)
    complete(execution=row.pk, step="note", by=by, now=done)
