"""When the log cannot be written, has nothing about an execution changed, and is the answer an error? (A8)."""

import ast
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps

from audit import log
from plans.core.gates import AlreadyBegunError
from plans.models import Execution
from plans.services.decide import decline
from plans.services.rollback import carry_on
from plans.services.start import start
from plans.services.stop import stop
from plans.services.sweep import sweep
from sideeffects import actors
from tests import external, factories
from tests.executions import Run, proposed, seconds
from tests.factories import NOW, person
from tests.rules.house import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.both]
SERVICES = ROOT / "plans" / "services"
BEAT = actors.system("beat")
Change = Callable[[], Any]


def _start() -> Change:
    by = factories.planner()
    plan = proposed(by=by)
    return lambda: start(plan=plan.pk, by=by, now=NOW)


def _begin() -> Change:
    run = Run()
    return lambda: run.begin("s1", 0)


def _refused() -> Change:
    run = Run()
    run.begin("s1", 0)

    def again() -> None:
        with pytest.raises(AlreadyBegunError):
            run.begin("s1", 1)

    return again


def _complete() -> Change:
    run = Run()
    run.begin("s1", 0)
    return lambda: run.complete("s1", 1)


def _fail() -> Change:
    run = Run()
    run.do("s1", 0)
    run.begin("s2", 2)
    return lambda: run.fail("s2", 3)


def _waiting() -> Run:
    run = Run()
    run.do("s1", 0)
    run.do("s2", 2)
    run.begin("s3", 4)
    return run


def _approve() -> Change:
    run = _waiting()
    return lambda: run.approve("s3", 5)


def _decline() -> Change:
    run = _waiting()
    return lambda: decline(execution=run.id, step="s3", reason="", by=person("alice"), now=seconds(5))


def _stop() -> Change:
    run = Run()
    run.until_pivot()
    run.do("s5", 20)
    return lambda: stop(execution=run.id, reason="", by=person("alice"), now=seconds(30))


def _rollback() -> Change:
    run = _waiting()
    return lambda: run.rollback(5)


def _carry_on() -> Change:
    run = _waiting()
    alice = person("alice").user
    turned = {"rollback_at": NOW, "rollback_by": "user:alice", "rollback_user": alice, "state": "rolling_back"}
    Execution.objects.filter(pk=run.id).update(**turned)
    return lambda: carry_on(execution=run.id, by=BEAT, now=seconds(6))


def _sweep() -> Change:
    run = Run()
    run.do("s1", 0)
    return lambda: sweep(by=BEAT, now=seconds(800))


CHANGES: dict[str, Callable[[], Change]] = {
    "start.start": _start,
    "begin.begin": _begin,
    "entries.log_refused": _refused,
    "complete.complete": _complete,
    "fail.fail": _fail,
    "decide.approve": _approve,
    "decide.decline": _decline,
    "stop.stop": _stop,
    "rollback.rollback": _rollback,
    "rollback.carry_on": _carry_on,
    "sweep.sweep": _sweep,
}


def everything() -> dict[str, list[tuple[Any, ...]]]:
    models = [one for one in apps.get_models() if one._meta.app_label in {"audit", "sideeffects", "plans", "workspace"}]
    return {model._meta.label: sorted(model._default_manager.values_list(), key=repr) for model in models}


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_changes_without_its_record(name, monkeypatch, settings):
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    change = CHANGES[name]()
    before = everything()

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(log, "append", broken)
    with pytest.raises(OSError, match="disk full"):
        change()
    assert everything() == before
    monkeypatch.undo()
    change()
    assert everything() != before, "the change does nothing even when the log can be written"


def test_every_service_of_executions_stands_in_the_table():
    apart = {"submit.submit", "keys.register", "keys.withdraw"}
    written = {
        f"{path.stem}.{node.name}"
        for path in SERVICES.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and "transaction.atomic" in ast.unparse(node)
    }
    assert written - apart <= set(CHANGES)
