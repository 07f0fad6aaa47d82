"""What do other processes do at the same moment? A crew: several processes of several threads that start as one.

Each process reads one line of JSON (what to do, in how many threads), has every thread connect, prints `ready`, reads
`go`, lets all threads loose at once, and prints one line of JSON: what came of each thread.
"""

import io
import json
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.db import connection, connections

from plans.services.begin import begin
from plans.services.complete import complete
from plans.services.decide import approve, decline
from plans.services.fail import fail
from plans.services.rollback import rollback
from plans.services.start import start
from sideeffects import actors
from sideeffects.models import AgentToken
from sideeffects.services import fence, land
from sideeffects.services.answers import Result
from sideeffects.services.execute import execute
from sideeffects.services.purge import purge
from sideeffects.services.record import ToolCall
from sideeffects.services.remove import Trigger
from sideeffects.services.resolve import resolve
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.tools import REGISTRY, Call, RegisteredTool, Written
from sideeffects.workspace.models import Note, Project
from sideeffects.workspace.tools import LOCAL
from tests import factories
from tests.factories import NOW
from tests.processes import answer, beside, tell

GATE = 4711  # an advisory lock: whoever holds it keeps the gated tool from ending
GATED = "test.gated"


def gated(arguments: dict[str, Any], call: Call) -> list[Written]:
    """Write a project, then wait at the gate: a tool that takes as long as a test wants."""
    project = Project.objects.create(owner=call.owner, created_at=call.now, name=arguments["name"])
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [GATE])
    return [Written(type="project", id=str(project.pk))]


GATED_TOOL = RegisteredTool(GATED, LOCAL, None, gated)


# -- What a thread can be told to do ------------------------------------------------------------------------------


def _said(result: Result) -> str:
    if result.answer is None:
        return type(result.refusal).__name__
    return "already" if result.answer.already else result.answer.outcome.value


def _revoke(*, groups: list[str], minutes: int = 0) -> str:
    results = revoke(
        groups=[UUID(group) for group in groups],
        by=factories.person("alice"),
        now=NOW + timedelta(minutes=minutes),
        reason="",
        trigger=Trigger.CLICK,
    )
    return ", ".join(_said(result) for result in results)


def _purge(*, days: int) -> str:
    return str(purge(by=actors.system("beat"), now=NOW + timedelta(days=days)))


def _restore(*, groups: list[str]) -> str:
    ids = [UUID(group) for group in groups]
    results = restore(groups=ids, by=factories.person("alice"), now=NOW, reason="")
    return ", ".join(_said(result) for result in results)


def _execute(*, token: str, tool: str, arguments: dict[str, Any], key: str = "") -> str:
    by = actors.agent(AgentToken.objects.select_related("agent", "owner").get(pk=token))
    call = ToolCall(tool=tool, arguments=arguments, conversation="c1", idempotency_key=key)
    return execute(tool=REGISTRY[tool], call=call, owner=by.user, by=by, now=NOW).result


def _report(*, token: str, ids: list[str]) -> str:
    by = actors.agent(AgentToken.objects.select_related("agent", "owner").get(pk=token))
    recorded = factories.report(by, [factories.contact(id_) for id_ in ids])
    return f"{recorded.result} new" if recorded.created else recorded.result


def _import(*, file: str, tools: str) -> str:
    out = io.StringIO()
    call_command("import_transcript", file, tools=tools, owner="alice", json=True, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def _land(*, token: str, group: str, ids: list[str], how: str) -> str:
    by = actors.agent(AgentToken.objects.select_related("agent", "owner").get(pk=token))
    if how == "land":
        effects = [factories.contact(id_) for id_ in ids]
        return land.land(group=UUID(group), effects=effects, by=by, now=NOW).result
    verb = {"lose": land.lose, "fail": land.fail}[how]
    return verb(group=UUID(group), reason="said so", by=by, now=NOW).state


def _decide(*, conflict: str, how: str, who: str) -> str:
    done = resolve(conflict=UUID(conflict), action=how, reason="Looked it up", by=factories.person(who), now=NOW)
    return "already" if done.already else how


def _fence(*, group: str, lifts: bool) -> str:
    verb = fence.lift if lifts else fence.put
    verb(group=UUID(group), reason="", by=factories.person("alice"), now=NOW)
    return "lifted" if lifts else "fenced"


def _fire() -> str:
    return f"fired {fence.fire(by=actors.system('beat'), now=NOW)}"


def _edit(*, note: str, text: str) -> str:
    return f"edited {Note.objects.filter(pk=note).update(body=text)}"


def _execution(
    *, verb: str, execution: str, step: str = "", token: str = "", at: float = 0, approval: str | None = None
) -> str:
    """Do one thing about an execution: as its agent where there is a token, else as alice."""
    by = actors.agent(AgentToken.objects.select_related("agent", "owner").get(pk=token)) if token else None
    asked: dict[str, Any] = {"execution": UUID(execution), "by": by or factories.person("alice")}
    asked |= {"now": NOW + timedelta(seconds=at)} | ({"step": step} if step else {})
    if verb == "complete":
        asked["effects"] = [factories.contact(f"c-{step}")]
    elif verb != "begin":
        asked["reason"] = ""
    if approval:
        asked["approval"] = UUID(approval)
    EXECUTING[verb](**asked)
    return "ok"


def _start(*, plan: str, token: str) -> str:
    by = actors.agent(AgentToken.objects.select_related("agent", "owner").get(pk=token))
    row, new = start(plan=UUID(plan), by=by, now=NOW)
    return f"new {row.pk}" if new else f"old {row.pk}"


EXECUTING: dict[str, Callable[..., Any]] = {
    "begin": begin,
    "complete": complete,
    "fail": fail,
    "approve": approve,
    "decline": decline,
    "rollback": rollback,
}
ACTS: dict[str, Callable[..., str]] = {
    "execution": _execution,
    "start": _start,
    "revoke": _revoke,
    "restore": _restore,
    "purge": _purge,
    "execute": _execute,
    "report": _report,
    "import": _import,
    "land": _land,
    "decide": _decide,
    "fence": _fence,
    "fire": _fire,
    "edit": _edit,
}


# -- In the other process -------------------------------------------------------------------------------------------


def main() -> None:
    """Do what the lines of the input say until it ends."""
    REGISTRY[GATED] = GATED_TOOL
    for line in iter(sys.stdin.readline, ""):
        tasks = json.loads(line)
        ready, go = threading.Barrier(len(tasks) + 1), threading.Event()
        told: list[str] = [""] * len(tasks)
        threads = [
            threading.Thread(target=_do, args=(number, task, ready, go, told)) for number, task in enumerate(tasks)
        ]
        for thread in threads:
            thread.start()
        ready.wait()
        _print("ready")
        sys.stdin.readline()
        go.set()
        for thread in threads:
            thread.join()
        _print(json.dumps(told))


def _do(number: int, task: list[Any], ready: threading.Barrier, go: threading.Event, told: list[str]) -> None:
    name, words = task
    try:
        connection.ensure_connection()
        ready.wait()
        go.wait()
        told[number] = ACTS[name](**words)
    except Exception as error:  # noqa: BLE001  (what it raises is what the test asks about)
        told[number] = type(error).__name__
    finally:
        connections.close_all()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# -- In the test ----------------------------------------------------------------------------------------------------


class Crew:
    """Some processes that wait for orders."""

    def __init__(self, size: int) -> None:
        self.processes = [beside("from tests import crew; crew.main()") for _ in range(size)]
        self.owed: set[int] = set()  # whose answers nobody has read: a test failed before it did

    def start(self, orders: dict[int, list[list[Any]]]) -> None:
        """Give processes by number their tasks, one a thread; let all of them loose once every thread is connected."""
        self.owed |= orders.keys()
        for number, tasks in orders.items():
            tell(self.processes[number], json.dumps(tasks))
        for number in orders:
            assert self._line(number) == "ready"
        for number in orders:
            tell(self.processes[number], "go")

    def told(self, *numbers: int) -> list[str]:
        """Return what came of each thread of these processes."""
        lines = [json.loads(self._line(number)) for number in numbers]
        self.owed -= set(numbers)
        return [told for line in lines for told in line]

    def all_at_once(self, *tasks: list[Any]) -> list[str]:
        """Do the tasks at the same moment, dealt out to all processes; return what came of each, in no order."""
        size = len(self.processes)
        orders = {number: list(tasks[number::size]) for number in range(size) if tasks[number::size]}
        self.start(orders)
        return self.told(*orders)

    def kill(self, number: int) -> None:
        """End a process as a power cut would."""
        self.processes[number].kill()
        self.processes[number].wait()

    def close(self) -> None:
        """Let the processes go, by force where one is still at something."""
        for number, process in enumerate(self.processes):
            if number in self.owed:
                self.kill(number)
            elif process.poll() is None:
                answer(process)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()

    def _line(self, number: int) -> str:
        process = self.processes[number]
        assert process.stdout
        return process.stdout.readline().strip()
