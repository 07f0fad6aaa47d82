"""Which calls does a transcript hold, and what came back from each? Line by line, so that any size is read; pure.

A line is one conversation: `{"conversation": ID, "run": ID?, "messages": […]}`, messages in the OpenAI chat format
(`tool_calls` and `tool` messages; the older `function_call` and `function` too). What else stands there is not read.

A call's id is not unique: a model may use one again in the same conversation. A result therefore belongs to the calls
of the assistant message before it: to the first with its id that waits, or, where it carries no id, to the first that
waits. Failing that it has come late, and belongs to the newest earlier call with its id that waits.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any

from audit.inert import shows_nothing
from sideeffects.declarations import NotCanonicalError, fingerprint
from sideeffects.toolfiles import is_storable

LONGEST_LINE = 64 * 1024 * 1024  # bytes; one line at a time is what is held in memory
LONGEST_NAME = 200  # characters, as the rows hold them
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
UNREADABLE = "unreadable"  # the one argument of a call whose arguments are not a JSON object: their text
_BOM = b"\xef\xbb\xbf"


@dataclass
class ToolUse:
    """One call; `result` is None where nothing has come back."""

    tool: str
    arguments: Mapping[str, Any]
    id: str = ""
    result: str | None = None
    readable: bool = True


@dataclass(frozen=True)
class Conversation:
    """The calls of one line, in order."""

    line: int
    name: str
    run: str = ""
    calls: Sequence[ToolUse] = field(default_factory=list)


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be read: its number, the member that is wrong, and what is wrong with it."""

    line: int
    member: str
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.member}: {self.what}" if self.member else f"line {self.line} {self.what}"


class _WrongError(Exception):
    """A member is wrong; the line is not known here."""

    def __init__(self, member: str, what: str) -> None:
        self.member, self.what = member, what
        super().__init__(f"{member}: {what}")


def read(stream: IO[bytes]) -> Iterator[Conversation | BadLine]:
    """Yield each conversation, or what is wrong with its line; blank lines are nothing."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        whole = len(line) <= LONGEST_LINE
        while not whole and not line.endswith(b"\n") and (rest := stream.readline(LONGEST_LINE)):
            line = rest
        if not whole:
            yield BadLine(number, "", f"is longer than {LONGEST_LINE} bytes")
        elif text := line.removeprefix(_BOM if number == 1 else b"").strip():
            yield _conversation(number, text)


def _conversation(number: int, text: bytes) -> Conversation | BadLine:
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_object)
        if not isinstance(value, dict):
            return BadLine(number, "", 'is no object; right is {"conversation": …, "messages": […]}')
        name, run = _text(value, "conversation", ""), value.get("run")
        calls = _calls(_typed(value, "messages", list, "a list"))
        return Conversation(number, name, "" if run is None else _text(value, "run", ""), calls)
    except _WrongError as error:
        return BadLine(number, error.member, error.what)
    except UnicodeDecodeError as error:
        return BadLine(number, "", f"is not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return BadLine(number, "", f"is not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError):
        return BadLine(number, "", "is JSON that no reader should have to read")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(name for name in members if [key for key, _ in pairs].count(name) > 1)
        raise _WrongError(twice[:LONGEST_NAME].encode("ascii", "backslashreplace").decode(), "stands there twice")
    return members


def _typed(value: Mapping[str, Any], member: str, kind: type, right: str, *, path: str = "") -> Any:
    if member not in value:
        raise _WrongError(path + member, f"is missing; right is {right}")
    if not isinstance(value[member], kind):
        raise _WrongError(path + member, f"right is {right}")
    return value[member]


def _text(value: Mapping[str, Any], member: str, path: str) -> str:
    text: str = _typed(value, member, str, "a text", path=path)
    if not 0 < len(text) <= LONGEST_NAME or not is_storable(text):
        raise _WrongError(path + member, f"has 1 to {LONGEST_NAME} characters, and no NUL")
    if shows_nothing(text):
        raise _WrongError(path + member, "needs at least one visible character")
    return text


def _calls(messages: Sequence[Any]) -> list[ToolUse]:
    calls: list[ToolUse] = []
    newest = 0  # where the calls of the last assistant message begin
    for index, message in enumerate(messages):
        path = f"messages[{index}]."
        if not isinstance(message, dict):
            raise _WrongError(path[:-1], "right is an object")
        if message.get("role") not in ROLES:
            raise _WrongError(f"{path}role", f"right is one of {', '.join(ROLES)}")
        asked = list(_asked(message, path))
        if asked and message["role"] != "assistant":
            raise _WrongError(f"{path}tool_calls", "only an assistant calls tools")
        if message["role"] == "assistant":
            newest = len(calls)
            calls.extend(asked)
        elif message["role"] in {"tool", "function"}:
            _waiting(calls, newest, message, path).result = _content(message, path)
    return calls


def _asked(message: Mapping[str, Any], path: str) -> Iterator[ToolUse]:
    """Yield the calls of one message."""
    if message.get("function_call") is not None:
        yield _use(_typed(message, "function_call", dict, "an object", path=path), "", f"{path}function_call.")
    if message.get("tool_calls") is None:
        return
    for index, call in enumerate(_typed(message, "tool_calls", list, "a list", path=path)):
        below = f"{path}tool_calls[{index}]."
        if not isinstance(call, dict):
            raise _WrongError(below[:-1], "right is an object")
        if call.get("type", "function") != "function":
            raise _WrongError(f"{below}type", "right is function; no other kind of call is read here")
        function = _typed(call, "function", dict, "an object", path=below)
        yield _use(function, _id(call, "id", below), f"{below}function.")


def _id(value: Mapping[str, Any], member: str, path: str) -> str:
    return "" if value.get(member) is None else str(_typed(value, member, str, "a text", path=path))


def _use(function: Mapping[str, Any], id_: str, path: str) -> ToolUse:
    tool, said = _text(function, "name", path), function.get("arguments", "")
    if not isinstance(said, str | dict):
        raise _WrongError(f"{path}arguments", "right is JSON in a text")
    text = said if isinstance(said, str) else json.dumps(said)
    arguments = _arguments(text)
    if arguments is not None:
        return ToolUse(tool, arguments, id_)
    kept = text.encode("utf-8", "backslashreplace").decode()
    return ToolUse(tool, {UNREADABLE: kept}, id_, readable=False)


def _arguments(text: str) -> Mapping[str, Any] | None:
    """Return the arguments, or nothing where the model wrote what is no JSON object: the call was made all the same."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_object)
        if isinstance(value, dict):
            fingerprint(tool="", arguments=value)
            return dict(value)
    except (ValueError, RecursionError, NotCanonicalError, _WrongError):
        pass
    return None


def _waiting(calls: Sequence[ToolUse], newest: int, message: Mapping[str, Any], path: str) -> ToolUse:
    """Return the call that a result belongs to."""
    wanted = _id(message, "tool_call_id", path)
    late = reversed(calls[:newest]) if wanted else iter(())
    for call in chain(calls[newest:], late):
        if call.result is None and wanted in {"", call.id}:
            return call
    raise _WrongError(f"{path}tool_call_id", "no call before this result waits for it")


def _content(message: Mapping[str, Any], path: str) -> str:
    """Return a result's text, which may come in parts."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [None]
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    if len(texts) != len(parts):
        raise _WrongError(f"{path}content", "right is a text, or a list of parts with a text each")
    return "".join(texts)
