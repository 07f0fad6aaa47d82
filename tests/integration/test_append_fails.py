"""When the log cannot be written, has nothing changed, and is the answer an error? For every service (A8)."""

import ast
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.apps import apps
from standardwebhooks import Webhook

from audit import log
from sideeffects import actors
from sideeffects.batches import Scope
from sideeffects.models import BatchItem, Request
from sideeffects.services import batch, batch_work, fence, keys, purge, roles, stale, targets, tokens
from sideeffects.services.again import again
from sideeffects.services.attest import Reason, attest
from sideeffects.services.declare import declare_target, declare_tool
from sideeffects.services.land import fail, land, lose
from sideeffects.services.reconcile import hear
from sideeffects.services.record import Status, ToolBlockedError
from sideeffects.services.remove import Trigger
from sideeffects.services.resolve import resolve
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass
from tests import external, factories
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]

SERVICES = Path(__file__).parents[2] / "sideeffects" / "services"
OURS = {"audit", "sideeffects", "workspace", "auth"}
NONE = Contract(revoke_class=RevokeClass.NONE, reason="no")
Change = Callable[[], Any]


def _open() -> Any:
    return factories.report(planner(), [], status=Status.IN_FLIGHT).group


def _landing(verb: str) -> Change:
    by = planner()
    group = factories.report(by, [], status=Status.IN_FLIGHT).group
    assert group is not None
    if verb == "land":
        return lambda: land(group=group.pk, effects=[factories.contact("c")], by=by, now=later(minutes=1))
    act = fail if verb == "fail" else lose
    return lambda: act(group=group.pk, reason="timeout", by=by, now=later(minutes=1))


def _revoke() -> Change:
    group = factories.project(planner())
    return lambda: revoke(groups=[group.pk], by=person("alice"), now=later(minutes=1), reason="", trigger=Trigger.CLICK)


def _refused() -> Change:
    group, bob = factories.project(planner()), person("bob")
    return lambda: revoke(groups=[group.pk], by=bob, now=later(minutes=1), reason="", trigger=Trigger.CLICK)


def _restore() -> Change:
    group = factories.project(planner())
    revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    return lambda: restore(groups=[group.pk], by=person("alice"), now=later(minutes=1), reason="")


def _lying(*, announced: bool) -> Change:
    group = factories.project(planner())
    revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    if announced:
        purge.announce(by=external.WORKER, now=later(days=28))
    verb = purge.purge if announced else purge.announce
    return lambda: verb(by=external.WORKER, now=later(days=31))


def _execute() -> Change:
    by = planner()
    return lambda: factories.project(by)


def _record() -> Change:
    by = planner()
    return lambda: factories.report(by, [factories.contact("c")])


def _blocked() -> Change:
    by = planner()
    blocked = Contract(revoke_class=RevokeClass.NONE, reason="no", blocked=True)
    declare_tool(name="rm.rf", contract=blocked, by=by, now=NOW)

    def change() -> None:
        with contextlib.suppress(ToolBlockedError):
            factories.report(by, [], tool="rm.rf", status=Status.IN_FLIGHT)

    return change


def _differ() -> Change:
    by = planner()
    factories.report(by, [factories.contact("c1")])
    return lambda: factories.report(by, [factories.contact("c2")])


def _resolving(action: str) -> Change:
    by, alice = planner(), person("alice")
    factories.report(by, [factories.contact("c1")])
    conflict = factories.report(by, [factories.contact("c2")]).conflict
    assert conflict is not None
    return lambda: resolve(conflict=conflict.pk, action=action, reason="seen", by=alice, now=later(minutes=1))


def _put() -> Change:
    group, alice = _open(), person("alice")
    return lambda: fence.put(group=group.pk, reason="", by=alice, now=later(minutes=1))


def _lift() -> Change:
    group, alice = _open(), person("alice")
    fence.put(group=group.pk, reason="", by=alice, now=later(minutes=1))
    return lambda: fence.lift(group=group.pk, reason="", by=alice, now=later(minutes=2))


def _fire() -> Change:
    by = planner()
    factories.crm(by)
    group = factories.report(by, [], status=Status.IN_FLIGHT).group
    assert group is not None
    row = fence.put(group=group.pk, reason="", by=person("alice"), now=later(minutes=1))
    land(group=group.pk, effects=[factories.contact("c")], by=by, now=later(minutes=2))
    return lambda: fence.fire_one(fence=row.pk, by=external.WORKER, now=later(minutes=3))


def _batch(*, worked: bool = True) -> Any:
    factories.project(planner())
    words: dict[str, Any] = {"by": person("alice"), "now": later(minutes=1), "reason": "", "via": "click"}
    row = batch.start(scope=Scope(conversation="c1"), **words)
    if worked:
        batch.work(by=external.WORKER, clock=lambda: later(minutes=2))
    return row


def _start() -> Change:
    factories.project(planner())
    words: dict[str, Any] = {"by": person("alice"), "now": later(minutes=1), "reason": "", "via": "click"}
    return lambda: batch.start(scope=Scope(conversation="c1"), **words)


def _steer(verb: str) -> Change:
    row, alice = _batch(worked=False), person("alice")
    if verb != "stop":
        batch.stop(batch=row.pk, by=alice, now=later(minutes=2))
    if verb == "retry":
        BatchItem.objects.update(outcome="failed", refusal="members-failed", worked_at=NOW)
    act = {"stop": batch.stop, "resume": batch.resume, "retry": batch.retry}[verb]
    return lambda: act(batch=row.pk, by=alice, now=later(minutes=3))


def _bring_back() -> Change:
    row, alice = _batch(), person("alice")
    return lambda: batch.restore(batch=row.pk, by=alice, now=later(minutes=3), reason="")


def _chunk() -> Change:
    row = _batch(worked=False)
    return lambda: batch_work.chunk(row.pk, 1, by=external.WORKER, now=later(minutes=3))


def _grant() -> Change:
    by, bob = person("admin"), factories.user("bob")
    return lambda: roles.grant(user=bob, role="auditor", by=by, now=NOW)


def _withdraw_role() -> Change:
    by, auditor = person("admin"), person("auditor").user
    return lambda: roles.withdraw(user=auditor, role="auditor", by=by, now=NOW)


def _create_token() -> Change:
    by, alice = person("admin"), factories.user("alice")
    return lambda: tokens.create(agent="new", owner=alice, scopes=["read"], name="", by=by, now=NOW)


def _withdraw_token() -> Change:
    by, token = person("alice"), factories.token()
    return lambda: tokens.withdraw(tokens=[token.pk], by=by, now=NOW)


def _target() -> Change:
    by = actors.system("test")
    return lambda: declare_target(name="crm", base_url="https://crm.example", audience="crm", by=by, now=NOW)


def _tool() -> Change:
    by = actors.system("test")
    return lambda: declare_tool(name="t", contract=NONE, by=by, now=NOW)


WHERE = "http://127.0.0.1:9"  # registered and never called here


def _asked() -> Any:
    external.registered(WHERE)
    return external.asked(external.contact())


def _register() -> Change:
    person("admin")
    return lambda: external.registered(WHERE)


def _resume() -> Change:
    request, admin = _asked(), person("admin")
    Request.objects.filter(pk=request.pk).update(suspended_at=NOW)
    return lambda: targets.resume(name="crm.example", by=admin, now=later(minutes=1))


def _declare() -> Change:
    admin = person("admin")
    return lambda: targets.declare(tool="else.where", contract=NONE, by=admin, now=NOW)


def _attest() -> Change:
    request, alice = _asked(), person("alice")
    word = {"reason": Reason.SEEN.value, "evidence": "I looked, and it is not there"}
    return lambda: attest(requests=[request.pk], by=alice, now=later(minutes=1), **word)


def _again() -> Change:
    request, alice = _asked(), person("alice")
    Request.objects.filter(pk=request.pk).update(next_try_at=later(hours=9))
    return lambda: again(requests=[request.pk], reason="", by=alice, now=later(minutes=1))


def _key() -> Change:
    return lambda: keys.active(by=external.WORKER, now=NOW)


def _rotate() -> Change:
    keys.active(by=external.WORKER, now=NOW)
    return lambda: keys.rotate(by=external.WORKER, now=later(days=1))


def _stale() -> Change:
    _asked()
    return lambda: stale.flag(by=external.WORKER, now=later(days=30))


def _hear() -> Change:
    request = _asked()
    content = json.dumps({"request": str(request.pk), "status": "done", "at": later(minutes=1).isoformat()})
    stamp = later(minutes=1)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(stamp.timestamp())),
        "webhook-signature": Webhook(external.SECRET).sign("msg_1", stamp, content),
    }

    def change() -> None:
        with time_machine.travel(stamp, tick=False):
            hear(target="crm.example", headers=headers, body=content.encode(), by=external.WORKER, now=stamp)

    return change


# What an answer makes fail is kept from its neighbours and tried again, so these raise nothing and are tested where
# requests are; the others write nothing on the log.
APART = {"settle.settle", "claim.claim", "notices.send", "notices.notify", "tokens.authenticate"}

CHANGES: dict[str, Callable[[], Change]] = {
    "targets.register": _register,
    "targets.resume": _resume,
    "targets.declare": _declare,
    "attest.attest": _attest,
    "again.again": _again,
    "keys.active": _key,
    "keys.rotate": _rotate,
    "stale.flag": _stale,
    "reconcile.hear": _hear,
    "purge.announce": lambda: _lying(announced=False),
    "purge.purge": lambda: _lying(announced=True),
    "declare.declare_target": _target,
    "declare.declare_tool": _tool,
    "execute.execute": _execute,
    "land.land": lambda: _landing("land"),
    "land.fail": lambda: _landing("fail"),
    "land.lose": lambda: _landing("lose"),
    "record.record": _record,
    "record.log_refused": _blocked,
    "refuse.log_refusals": _refused,
    "restore.restore": _restore,
    "revoke.revoke": _revoke,
    "compare.with_held": _differ,
    "resolve.resolve": lambda: _resolving("adopt"),
    "resolve.split": lambda: _resolving("split"),
    "resolve.dismiss": lambda: _resolving("dismiss"),
    "fence.put": _put,
    "fence.lift": _lift,
    "fence.fire_one": _fire,
    "batch_start.start": _start,
    "batch_decide.stop": lambda: _steer("stop"),
    "batch_decide.resume": lambda: _steer("resume"),
    "batch_decide.retry": lambda: _steer("retry"),
    "batch_restore.restore": _bring_back,
    "batch_work.chunk": _chunk,
    "roles.grant": _grant,
    "roles.withdraw": _withdraw_role,
    "tokens.create": _create_token,
    "tokens.withdraw": _withdraw_token,
}


def _everything() -> dict[str, list[tuple[Any, ...]]]:
    models = [model for model in apps.get_models() if model._meta.app_label in OURS]
    return {model._meta.label: sorted(model._default_manager.values_list(), key=repr) for model in models}


@pytest.fixture(autouse=True)
def _excepted(settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_changes_without_its_record(name, monkeypatch):
    change = CHANGES[name]()
    before = _everything()

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(log, "append", broken)
    with pytest.raises(OSError, match="disk full"):
        change()
    assert _everything() == before
    monkeypatch.undo()
    change()
    assert _everything() != before, "the change does nothing even when the log can be written"


def test_a_tool_whose_landing_cannot_be_recorded_leaves_no_row(monkeypatch):
    by, append = planner(), log.append

    def second_fails(entries: Any, **more: Any) -> Any:
        if entries[0].action == "group_landed":
            raise OSError("disk full")
        return append(entries, **more)

    monkeypatch.setattr(log, "append", second_fails)
    before = _everything()
    with pytest.raises(Exception, match=r"project\.create failed"):
        factories.project(by)
    after = _everything()
    assert {name for name in after if after[name] != before[name] and name.startswith("workspace")} == set()


def test_every_service_stands_in_the_table():
    written = {
        f"{path.stem}.{node.name}"
        for path in SERVICES.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and "transaction.atomic" in ast.unparse(node)
    }
    assert written - APART <= set(CHANGES)
