"""What does the demonstration tell of many actions taken back together? An hour of an agent that went wrong."""

from datetime import datetime

from sideeffects import actors
from sideeffects.batches import Scope
from sideeffects.declarations import Declared
from sideeffects.models import AgentToken, Group
from sideeffects.services import batch, record
from sideeffects.services.execute import execute
from sideeffects.tools import REGISTRY
from sideeffects.transitions import Operation

CONVERSATION, RUN = "demo: minutes of the week", "run 0417"
MINUTES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def tell(token: AgentToken, *, now: datetime) -> None:
    """Let the agent write minutes of meetings that never were, and have its owner take the whole run back."""
    if Group.objects.filter(conversation=CONVERSATION).exists():
        return
    by = actors.agent(token)
    for day in MINUTES:
        note = {"title": f"Minutes of {day}", "body": "Nobody was there."}
        call = record.ToolCall(tool="note.create", arguments=note, conversation=CONVERSATION, run=RUN)
        execute(tool=REGISTRY["note.create"], call=call, owner=by.user, by=by, now=now)
    mail = {"to": "team@example.com", "subject": "The minutes of the week"}
    sent = record.ToolCall(tool="email.send", arguments=mail, conversation=CONVERSATION, run=RUN)
    message = Declared("message", "msg-20431", Operation.CREATE, "The minutes of the week")
    record.record(call=sent, status=record.Status.LANDED, effects=[message], owner=by.user, by=by, now=now)
    why = "None of these meetings took place"
    batch.start(scope=Scope(run=RUN), by=actors.person(by.user), now=now, reason=why, via="click")
    batch.work(by=actors.system("demo"), clock=lambda: now)
