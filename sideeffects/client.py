"""How does an agent tell the console what its tools do? One file, standard library only: copy it beside the agent.

    console = Console("https://console.example", token)
    with console.call("crm.create_contact", arguments, conversation="c1") as call:
        contact = call.returned(crm.create_contact(**arguments))
        call.declare([{"type": "contact", "id": contact["id"], "operation": "create"}])

The call is announced before the tool runs and lands with its declaration at the end of the block. A crash in between
leaves it open in the console, where people see it. An exception says that nothing was written, except where that is
not known: a time-out, a broken connection, Ctrl-C, or anything after `returned`; then the call is reported lost.
"""

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlencode, urlsplit

Effect = Mapping[str, Any]  # type, id, operation; title, version and undo_expires_at where there are some
BUSY, FAULT = 429, 500  # statuses worth another try
LONGEST_WAIT = 5.0  # seconds between two tries


class ClientError(Exception):
    """Whatever this client raises."""


class ProblemError(ClientError):
    """The console refuses: an RFC 9457 problem with its members, e.g. `error.members["errors"]`."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.members = status, dict(problem)
        self.type, self.title = str(problem.get("type", "about:blank")), str(problem.get("title", f"HTTP {status}"))
        self.detail = str(problem.get("detail", ""))
        super().__init__(f"{status} {self.title}: {self.detail}" if self.detail else f"{status} {self.title}")


class UnreachableError(ClientError):
    """No usable answer came from the console, however often it was tried."""

    def __init__(self, url: str, tries: int, why: str) -> None:
        self.url, self.tries, self.why = url, tries, why
        super().__init__(f"{url} gave no usable answer in {tries} tries ({why}).")


class CallError(ClientError):
    """Something about one call; `call.result` and `call.declared` are what the tool returned and what was declared."""

    def __init__(self, call: "Call", message: str) -> None:
        self.call, self.group = call, call.group
        super().__init__(message)


class NotAnnouncedError(CallError):
    """The console could not be told beforehand, so the tool has not run."""


class CalledBeforeError(CallError):
    """The same call is known already, so the tool has not run; `state` is how far the first one got."""

    def __init__(self, call: "Call", state: str) -> None:
        self.state = state
        said = "has landed" if state == "landed" else "may have written something: it never landed"
        meant = "Pass another idempotency_key if it is meant again"
        settle = "" if state == "landed" else f", or settle it first with console.land, fail or lose('{call.group}')"
        super().__init__(call, f"This call {said}. The tool has not run now. {meant}{settle}. Group {call.group}.")


class NotLandedError(CallError):
    """The tool has run and the console could not be told what it wrote: the group is open; `land()` tries again."""

    def __init__(self, call: "Call", why: Exception) -> None:
        self.why = why
        how = f"Land it with error.call.land(), or POST error.call.declared as effects to {call.address}/land"
        super().__init__(call, f"The tool has run, but group {call.group} is still open in the console ({why}). {how}.")


class DeclarationDiffersError(CallError):
    """The call had landed with another declaration; a person decides. `difference`: what differs.

    Both are kept, and `conflict` names this one; past a cap it is counted only, and `conflict` is None.
    """

    def __init__(self, call: "Call", problem: ProblemError) -> None:
        self.conflict, self.difference = problem.members.get("conflict"), problem.members.get("difference") or {}
        numbers = ", ".join(f"{len(value)} {name}" for name, value in self.difference.items() if value)
        differs = numbers or "another principal"
        kept = "Both are kept" if self.conflict else "This one was counted and not kept"
        super().__init__(call, f"Group {call.group} was declared before with other effects: {differs}. {kept}.")


class NotDeclaredError(CallError):
    """The block ended and nothing was declared, so the call is reported lost: call.declare([]) says "nothing"."""

    def __init__(self, call: "Call") -> None:
        super().__init__(
            call, f"Nothing was declared for group {call.group}, which is reported lost and may still land."
        )


class Answer(NamedTuple):
    """What the console answered to which try."""

    body: Any
    headers: Mapping[str, str]
    tries: int = 1


class Console:
    """The console at an address, as an agent sees it by its token."""

    def __init__(self, url: str, token: str, *, timeout: float = 10, tries: int = 4) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ValueError("The console's address begins with https:// or http://")
        if not (token.isascii() and token.isprintable() and token):
            raise ValueError("An agent's token is printable ASCII")  # without the token: errors get logged
        self.url, self.timeout, self.tries = url.rstrip("/"), timeout, tries
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)
        self.sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return f"Console({self.url!r})"

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        conversation: str,
        run: str = "",
        idempotency_key: str = "",
        again: bool = False,
    ) -> "Call":
        """Return a call to be made in a `with`; `again` runs the tool although the same call is known already.

        Entering raises NotAnnouncedError, CalledBeforeError, ProblemError: the tool has not run. Leaving raises
        NotLandedError, DeclarationDiffersError, NotDeclaredError.
        """
        body = {"tool": tool, "arguments": dict(arguments), "conversation": conversation, "run": run}
        return Call(self, body, idempotency_key=idempotency_key, again=again)

    def execution(self, plan: str, *, conversation: str = "", run: str = "") -> "Execution":
        """Return the execution of an accepted plan, begun now or before; raises ProblemError."""
        said = {name: value for name, value in (("conversation", conversation), ("run", run)) if value}
        return Execution(self, self.send("POST", f"plans/{plan}/executions", said).body)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, conversation: str, run: str = "", idempotency_key: str = ""
    ) -> Any:
        """Have a tool run that the console itself knows, and return its group; raises ProblemError."""
        body = {"tool": tool, "arguments": dict(arguments), "conversation": conversation, "run": run}
        return self.send("POST", "tool-calls", body, key=idempotency_key).body

    def land(self, group: str, effects: Sequence[Effect]) -> Any:
        """Land an open or lost call; repeated, it changes nothing. Raises ProblemError."""
        return self.send("POST", f"tool-calls/{group}/land", {"effects": [dict(effect) for effect in effects]}).body

    def fail(self, group: str, reason: str = "") -> Any:
        """Say that an open call wrote nothing."""
        return self.send("POST", f"tool-calls/{group}/fail", {"reason": reason}).body

    def lose(self, group: str, reason: str = "") -> Any:
        """Say that nobody knows what became of an open call; it may still land."""
        return self.send("POST", f"tool-calls/{group}/lose", {"reason": reason}).body

    def group(self, group: str) -> Any:
        """Return a group as the console shows it."""
        return self.send("GET", f"groups/{group}").body

    def groups(self, **filters: str) -> Iterator[Any]:
        """Yield groups, newest first; after a crash `groups(state="open")` are those to settle."""
        return self._pages("groups", filters)

    def effects(self, group: str) -> Iterator[Any]:
        """Yield all members of a group, principal first."""
        return self._pages("effects", {"group": group})

    def revoke(self, group: str, reason: str = "") -> Any:
        """Ask to take a group back; return what became of each member, and `complete`. Raises ProblemError."""
        return self.send("POST", f"groups/{group}/revoke", {"reason": reason}).body

    def _pages(self, path: str, filters: Mapping[str, str]) -> Iterator[Any]:
        query = dict(filters)
        while True:
            page = self.send("GET", f"{path}?{urlencode(query)}").body
            yield from page["results"]
            after = parse_qs(urlsplit(page["next"] or "").query).get("cursor")
            if not after:
                return
            query["cursor"] = after[0]

    def send(self, method: str, path: str, body: Any = None, *, key: str = "") -> Answer:
        """Return the answer, after more tries where none came. Raises ProblemError, UnreachableError."""
        url = f"{self.url}/api/v1/{path}"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        trouble: Exception = UnreachableError(url, 0, "not tried")
        for number in range(self.tries):
            if number:
                self.sleep(_wait(trouble, number))
            try:
                return self._once(method, url, data, key)._replace(tries=number + 1)
            except ProblemError as error:
                if error.status < FAULT and error.status != BUSY:
                    raise
                trouble = error
            except (OSError, HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
                trouble = UnreachableError(url, number + 1, type(error).__name__)
        raise trouble

    def _once(self, method: str, url: str, data: bytes | None, key: str) -> Answer:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if key:
            quoted = key.replace("\\", "\\\\").replace('"', '\\"')
            headers["Idempotency-Key"] = f'"{quoted}"'
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  (the constructor saw the scheme)
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                return Answer(json.loads(answer.read()), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                raise ProblemError(error.code, _problem(error)) from None


class Call:
    """One call of a tool: announced, run, and landed with what it declares. Made by `Console.call`."""

    def __init__(self, console: Console, body: dict[str, Any], *, idempotency_key: str, again: bool) -> None:
        self.console, self.again = console, again
        self._body, self._key = body, idempotency_key
        self._has_returned, self._ended = False, False
        self.group = ""
        self.result: Any = None
        self.declared: list[dict[str, Any]] | None = None
        self.answer: Any = None  # the group as the console last showed it

    @property
    def address(self) -> str:
        """Return the call's address in the console's API."""
        return f"{self.console.url}/api/v1/tool-calls/{self.group}"

    def __enter__(self) -> Self:
        """Announce the call; raises NotAnnouncedError, CalledBeforeError, ProblemError."""
        began = time.monotonic()
        try:
            told = self.console.send("POST", "tool-calls", {**self._body, "status": "in_flight"}, key=self._key)
        except UnreachableError as error:
            raise NotAnnouncedError(self, f"The tool has not run: {error} The call may stand there as open.") from error
        self.answer, self.group = told.body, told.body["id"]
        if told.headers.get("Idempotency-Replayed") == "true" and not (self.again or _is_ours(told, began)):
            raise CalledBeforeError(self, self.answer["state"])
        return self

    def returned(self, result: Any) -> Any:
        """Keep and return what the tool returned: from here on, no exception can mean that nothing was written."""
        self.result, self._has_returned = result, True
        return result

    def declare(self, effects: Sequence[Effect]) -> None:
        """Say what the tool wrote, principal first; said more than once, it adds up. It lands at the block's end."""
        self._has_returned = True
        self.declared = [*(self.declared or []), *effects]  # type: ignore[list-item]  # (checked where it lands)

    def lose(self, reason: str = "") -> None:
        """Say now that nobody knows what became of the call; a later `declare` still lands it."""
        self.answer, self._ended = self.console.lose(self.group, reason), True

    def fail(self, reason: str = "") -> None:
        """Say now that the tool wrote nothing."""
        self.answer, self._ended = self.console.fail(self.group, reason), True

    def land(self) -> Any:
        """Land the call with what was declared; raises NotLandedError, DeclarationDiffersError."""
        try:
            self.answer = self.console.land(self.group, self.declared or [])
            if self.answer["id"] != self.group:
                raise UnreachableError(self.address, 1, "the answer is not the console's")  # noqa: TRY301  (caught below)
        except ProblemError as error:
            if "difference" in error.members:
                raise DeclarationDiffersError(self, error) from None
            raise NotLandedError(self, error) from error
        except Exception as error:  # whatever it is, the tool has run
            raise NotLandedError(self, error) from error
        return self.answer

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Land the call, or say how it ended; an exception of the tool goes on with a note where that did not work."""
        if error is None:
            self._settle()
            return
        try:
            self._settle_after(error)
        except ClientError as trouble:
            error.add_note(f"The console: {trouble}")

    def _settle(self) -> None:
        if self.declared is not None:
            self.land()
        elif not self._ended:
            with contextlib.suppress(ClientError):  # still open then, and visible
                self.lose("it ended without a declaration")
            raise NotDeclaredError(self)

    def _settle_after(self, error: BaseException) -> None:
        """Tell the class of the exception, never its text."""
        if self.declared is not None:
            self.land()
        elif not self._ended:
            (self.lose if self._has_returned or is_silence(error) else self.fail)(type(error).__name__)


class StepNotReportedError(ClientError):
    """A step has run and the console could not be told: it is still running there; `step.report()` tries again."""

    def __init__(self, step: "Step", why: Exception) -> None:
        self.step, self.why = step, why
        super().__init__(f"Step {step.name} has run, but is not reported ({why}). Try error.step.report() again.")


class Execution:
    """An accepted plan being carried out. `answer` is how the console last showed it. Made by `Console.execution`."""

    def __init__(self, console: Console, answer: Any) -> None:
        self.console, self.answer, self.id = console, answer, str(answer["id"])

    def refresh(self) -> Any:
        """Return how it stands by the console's clock."""
        self.answer = self.console.send("GET", f"executions/{self.id}").body
        return self.answer

    def step(self, name: str, *, again: bool = False) -> "Step":
        """Return a step to be carried out in a `with`; `again` goes on with one that this agent began before.

        Entering raises ProblemError where the step may not begin: its tool has not run. An exception inside says that
        the step failed, and up to the pivot everything is rolled back; except where nobody knows what was written.
        """
        return Step(self, name, again=again)

    def ask(self, name: str) -> Any:
        """Have a person asked about their step; asked anew where nobody decided in time. Raises ProblemError."""
        return self.say(name, "begin", {})

    def wait(self, name: str, *, every: float = 5) -> str:
        """Return what a person decided: approved, declined, or nothing (empty) once their time is over."""
        while True:
            step = _step_of(self.refresh(), name)
            approval = step["approval"] or {}
            if approval.get("decision") or not approval.get("open"):
                return str(approval.get("decision") or "")
            self.console.sleep(every)

    def rollback(self, reason: str = "") -> Any:
        """Roll back, newest step first; each step's `undone` says what that came to. Raises ProblemError."""
        return self._end("rollback", reason)

    def stop(self, reason: str = "") -> Any:
        """Go no further past the pivot: what is done stands. Said twice, it stops once. Raises ProblemError."""
        return self._end("stop", reason)

    def _end(self, verb: str, reason: str) -> Any:
        self.answer = self.console.send("POST", f"executions/{self.id}/{verb}", {"reason": reason}).body
        return self.answer

    def say(self, name: str, verb: str, body: Mapping[str, Any]) -> Any:
        """Tell the console about a step."""
        path = f"executions/{self.id}/steps/{quote(name, safe='')}/{verb}"
        self.answer = self.console.send("POST", path, dict(body)).body
        return self.answer


class Step:
    """One step: let begin, run, and completed with what it declares. Made by `Execution.step`."""

    def __init__(self, execution: Execution, name: str, *, again: bool) -> None:
        self.execution, self.name, self.again = execution, name, again
        self.key = ""  # the Idempotency-Key for its calls
        self.body: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        """Ask to begin; raises ProblemError."""
        try:
            self.execution.say(self.name, "begin", {})
        except ProblemError as error:
            if not (self.again and error.type.endswith("#already-begun")):
                raise
            if _step_of(self.execution.refresh(), self.name)["state"] != "begun":
                raise
        self.key = str(_step_of(self.execution.answer, self.name)["idempotency_key"])
        return self

    def declare(self, effects: Sequence[Effect], *, spent_eur: float | None = None) -> None:
        """Say what the step wrote, principal first, and what it spent; reported at the block's end."""
        self.body = {"effects": [dict(effect) for effect in effects]}
        if spent_eur is not None:
            self.body["spent_eur"] = spent_eur

    def report(self) -> Any:
        """Report the step as completed; raises StepNotReportedError, ProblemError."""
        try:
            return self.execution.say(self.name, "complete", self.body or {})
        except UnreachableError as error:
            raise StepNotReportedError(self, error) from error

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Complete the step, or fail it where nothing can have been written."""
        if error is None or self.body is not None:
            self.report()
        elif not is_silence(error):
            try:
                self.execution.say(self.name, "fail", {"reason": type(error).__name__})
            except ClientError as trouble:
                error.add_note(f"The console: {trouble}")


def _step_of(answer: Any, name: str) -> Any:
    return next(step for step in answer["steps"] if step["id"] == name)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nothing: the token is for the console alone."""

    def redirect_request(self, *_args: Any) -> None:
        """Refuse."""


def _is_ours(told: Answer, began: float) -> bool:
    """Say whether an earlier try of ours opened the group, whose answer was lost: by the console's own clock."""
    if told.tries == 1 or told.body["state"] != "open" or "Date" not in told.headers:
        return False
    first = parsedate_to_datetime(told.headers["Date"]) - timedelta(seconds=time.monotonic() - began)
    return datetime.fromisoformat(told.body["opened_at"]) >= first


def is_silence(error: BaseException) -> bool:
    """Say whether an exception leaves open what the tool wrote: nobody answered, or somebody stopped waiting."""
    names = [base.__name__ for base in type(error).__mro__]
    broken = any("Timeout" in name or name == "TransportError" for name in names)  # those of HTTP libraries
    return broken or not isinstance(error, Exception) or isinstance(error, OSError | EOFError | HTTPException)


def _problem(error: urllib.error.HTTPError) -> Mapping[str, Any]:
    try:
        said = json.loads(error.read())
    except (OSError, HTTPException, ValueError):
        said = None
    return {"retry_after": error.headers.get("Retry-After"), **(said if isinstance(said, dict) else {})}


def _wait(trouble: Exception, number: int) -> float:
    """Return how many seconds to wait before a further try."""
    asked = trouble.members.get("retry_after") if isinstance(trouble, ProblemError) else None
    wanted = float(asked) if isinstance(asked, str) and asked.isdigit() else 0.2 * 2**number
    return min(wanted, LONGEST_WAIT)
