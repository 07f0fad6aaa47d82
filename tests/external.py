"""What do the tests of targets share? A registered target, a contact that its tool wrote there, and a carried go."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from audit.models import Record
from sideeffects import actors
from sideeffects.actors import Actor
from sideeffects.models import Effect, Group, Request, Target
from sideeffects.services import targets
from sideeffects.services.carry_out import Called, call, understood
from sideeffects.services.claim import claim
from sideeffects.services.declare import declare_tool
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from sideeffects.services.settle import settle
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass
from tests import factories
from tests.factories import NOW

WORKER = actors.system("worker")
SECRET = "whsec_" + "c2VjcmV0LW9mLXRoZS1zYW5kYm94LXRhcmdldA=="
COMPENSATIONS = {
    "create": "DELETE /contacts/{id}",
    "update": 'POST /contacts/{id}/revert {"version": "{version}"}',
    "delete": "POST /contacts/{id}/undelete",
}


def registered(url: str, *, name: str = "crm.example", now: datetime = NOW, **options: Any) -> Target:
    """Register a target at this address, as an admin would; its host is excepted by the test's settings."""
    wanted = {"audience": f"https://{name}", "callback_secret": SECRET, **options}
    return targets.register(
        name=name, wanted=targets.Settings(base_url=url, **wanted), by=factories.person("admin"), now=now
    )


def contact(
    key: str = "c_1", *, by: Actor | None = None, status: str = "", target: str = "crm.example", **more: Any
) -> Group:
    """Return the group of a call that created a contact in the target; `status` is the path it can be read at."""
    by = by or factories.planner()
    contract = Contract(revoke_class=RevokeClass.EXTERNAL, target=target, compensations=COMPENSATIONS, status=status)
    declare_tool(name=f"{target}.create_contact", contract=contract, by=actors.system("test"), now=NOW)
    group = factories.report(
        by, [factories.contact(key)], tool=f"{target}.create_contact", arguments={"key": key}, **more
    ).group
    assert group is not None
    return group


def asked(group: Group, *, by: Actor | None = None, now: datetime = NOW, reason: str = "") -> Request:
    """Have alice revoke the group, and return the request about its first member."""
    by = by or factories.person("alice")
    [result] = revoke(groups=[group.pk], by=by, now=now, reason=reason, trigger=Trigger.CLICK)
    result.unwrap()
    return Request.objects.get(effect__group=group, effect__position=0, current=True)


def go(now: datetime = NOW, *, room: int = 50, real: datetime | None = None) -> list[Called]:
    """Claim what is due, call, and settle, one after another; `real` is the time tokens are made at."""
    came = [understood(one, call(one, now=real or now), now=now) for one in claim(room=room, by=WORKER, now=now)]
    settle(called=came, by=WORKER, now=now)
    return came


def clock() -> datetime:
    """Return what the clock says, where another process looks at one too and cannot travel."""
    return datetime.now(UTC)


def turn(hours: float = 0, *, ahead: float = 0) -> list[Called]:
    """Carry what is due some hours from now with tokens of this very moment, or of one `ahead` by these seconds."""
    now = clock()
    return go(now + timedelta(hours=hours), real=now + timedelta(seconds=ahead))


def actions() -> list[str]:
    """Return of what kinds the records on the log are, oldest first."""
    return list(Record.objects.order_by("id").values_list("action", flat=True))


def bodies(action: str) -> list[Any]:
    """Return what stands on the log of this kind, oldest first."""
    return [json.loads(record.body) for record in Record.objects.filter(action=action).order_by("id")]


def state(request: Request | Effect) -> str:
    """Return where it stands in the database now."""
    request.refresh_from_db()
    return str(request.state)
