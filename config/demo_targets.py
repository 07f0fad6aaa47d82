"""Which story does the demonstration tell of other systems? One request under way, one stuck, one call told twice."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from sideeffects import actors
from sideeffects.actors import Actor
from sideeffects.declarations import Declared
from sideeffects.models import AgentToken, Group, Target
from sideeffects.services import record, stale, targets
from sideeffects.services.carry_out import understood
from sideeffects.services.claim import claim
from sideeffects.services.declare import declare_tool
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.services.settle import settle
from sideeffects.targets.answers import Kind
from sideeffects.targets.http import Came
from sideeffects.tools import Contract
from sideeffects.transitions import Operation, RevokeClass

CRM, TRACKER = "crm.example", "tracker.example"
CONVERSATION = "demo: customers and issues"
CREATE_CONTACT = Contract(
    revoke_class=RevokeClass.EXTERNAL,
    target=CRM,
    compensations={"create": "DELETE /contacts/{id}"},
    status="/contacts/{id}",
    title="Contact {arguments.name}",
)
CREATE_ISSUES = Contract(
    revoke_class=RevokeClass.EXTERNAL,
    target=TRACKER,
    compensations={"create": "DELETE /issues/{id}"},
    title="Issues of {arguments.milestone}",
)
LONG_AGO = timedelta(days=31)
HOUR = 3600
FIRST, THEN = 11, 12  # issues as the call declared them, and as its retry did


class Stage(Protocol):
    """Where objects are put for the story."""

    url: str

    def stage(self, method: str, path: str, told: dict[str, Any]) -> None:
        """Have something there, or something done."""


def register(*, url: str, audience: str, secret: str, now: datetime) -> None:
    """Register the sandbox as the CRM, or tell that it listens elsewhere by now; as it is, it is left alone."""
    by = actors.system("demo")
    known = Target.objects.filter(name=CRM).exclude(registered_at=None).first()
    if known is not None and known.base_url == url:
        return
    wanted = targets.Settings(base_url=url, audience=audience, callback_secret=secret)
    targets.register(name=CRM, wanted=wanted, by=by, now=now)
    targets.resume(name=CRM, by=by, now=now)  # only its port is another: what waits goes on there


def tell(token: AgentToken, stage: Stage, *, now: datetime) -> None:
    """Tell it where it is missing."""
    if Group.objects.filter(conversation=CONVERSATION).exists():
        return
    by = actors.agent(token)
    for tool, contract in (("crm.create_contact", CREATE_CONTACT), ("tracker.create_issues", CREATE_ISSUES)):
        declare_tool(name=tool, contract=contract, by=actors.system("demo"), now=now - LONG_AGO)
    _stuck(by, stage, now=now - LONG_AGO)
    on_its_way = _contact(by, stage, "c-2044", "Grace Marlow", now=now)
    stage.stage("PUT", "objects/contacts/c-2044/behaviour", {"do": "accept", "seconds": HOUR})
    _revoke(on_its_way, by, reason="She asked not to be written to", now=now)
    _contact(by, stage, "c-2051", "Alan Whitby", now=now)
    for number in (FIRST, THEN):
        _report(by, "tracker.create_issues", {"milestone": "Q3 launch"}, _issues(number), now=now)
    stale.flag(by=actors.system("beat"), now=now)


def _stuck(by: Actor, stage: Stage, *, now: datetime) -> None:
    """Let the CRM have accepted a request last month, and never say how it went: it still shows the contact."""
    group = _contact(by, stage, "c-1007", "Ada Lovell", now=now)
    stage.stage("PUT", "objects/contacts/c-1007/behaviour", {"do": "accept", "seconds": HOUR})
    _revoke(group, by, reason="Created twice", now=now)
    worker = actors.system("worker")
    claimed = [one for one in claim(room=1, by=worker, now=now) if one.request.effect.group_id == group.pk]
    answer = Came(kind=Kind.ANSWERED, status=202)
    settle(called=[understood(one, answer, now=now) for one in claimed], by=worker, now=now)


def _contact(by: Actor, stage: Stage, id_: str, name: str, *, now: datetime) -> Group:
    owner = by.user.get_username()
    stage.stage("POST", "objects", {"collection": "contacts", "id": id_, "owner": owner, "tool": "crm.create_contact"})
    effects = [Declared("contact", id_, Operation.CREATE, name)]
    return _report(by, "crm.create_contact", {"name": name}, effects, now=now)


def _issues(number: int) -> list[Declared]:
    titles = [f"Launch check {index}" for index in range(1, number + 1)]
    return [
        Declared("issue", f"LAUNCH-{index}", Operation.CREATE, title) for index, title in enumerate(titles, start=101)
    ]


def _report(by: Actor, tool: str, arguments: dict[str, Any], effects: Sequence[Declared], *, now: datetime) -> Group:
    call = record.ToolCall(tool=tool, arguments=arguments, conversation=CONVERSATION)
    done = record.record(call=call, status=record.Status.LANDED, effects=effects, owner=by.user, by=by, now=now)
    assert done.group is not None
    return done.group


def _revoke(group: Group, by: Actor, *, reason: str, now: datetime) -> None:
    [result] = revoke(groups=[group.pk], by=actors.person(by.user), now=now, reason=reason, trigger=Trigger.CLICK)
    result.unwrap()
