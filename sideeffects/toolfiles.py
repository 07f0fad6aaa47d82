"""What does a TOOLS.toml say about the tools of a transcript? Strictly: each fault is named with what is right; pure.

[targets.airline]
base_url = "https://airline.example/api"
audience = "https://airline.example"

[tools.book_reservation]
class = "governed_external"
target = "airline"
operation = "create"
type = "reservation"
id = "/reservation_id"                       # JSON pointer into the result
revoke = "DELETE /reservations/{id}"
failure = "Error"                            # the result of a failed call begins with it
title = "Booked {arguments.origin} to {arguments.destination}"

[tools.send_certificate]
class = "none"
reason = "A certificate that was sent does not come back"
"""

import json
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sideeffects.declarations import Declared
from sideeffects.transitions import Operation, RevokeClass

LONGEST_ID = 200
MOST = {"type": 60, "reason": 500, "title": 500, "base_url": 500, "audience": 500}  # characters, as the rows hold them
LONGEST_NAME = {"targets": 100, "tools": 200}
TARGET_MEMBERS = ("base_url", "audience")
TOOL_MEMBERS = ("class", "target", "operation", "type", "id", "revoke", "failure", "title", "reason")
CLASSES = (RevokeClass.NONE.value, RevokeClass.EXTERNAL.value)
COMPENSATION = re.compile(r"(DELETE|POST|PUT|PATCH) /\S*")
POINTER = re.compile(r"(/([^/~]|~[01])*)+")
Fault = tuple[str, str]


class BadToolFileError(Exception):
    """The file does not say what it must; `faults` name each member and what would be right."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(self.faults))


@dataclass(frozen=True)
class DescribedTarget:
    """A system that holds results."""

    base_url: str
    audience: str


@dataclass(frozen=True)
class DescribedTool:
    """How one tool's calls are read; `pointer` leads to the id in the result, empty where there is none."""

    revoke_class: RevokeClass = RevokeClass.NONE
    target: str = ""
    operation: Operation = Operation.UPDATE
    type: str = ""
    pointer: str = ""
    revoke: str = ""
    failure: str = ""
    title: str = ""
    reason: str = ""

    def failed(self, result: str) -> bool:
        """Say whether a result is that of a failed call."""
        return bool(self.failure) and result.startswith(self.failure)

    def declared(self, tool: str, result: str) -> Declared:
        """Return the object that a call with this result wrote; without an id where the result holds no usable one."""
        return Declared(self.type or tool[: MOST["type"]], self._id_in(result), self.operation)

    def _id_in(self, result: str) -> str:
        if not self.pointer:
            return ""
        try:
            value = json.loads(result)
            for name in self.pointer[1:].split("/"):
                value = _below(value, name.replace("~1", "/").replace("~0", "~"))
        except (ValueError, LookupError, RecursionError):
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            return ""
        return str(value) if len(str(value)) <= LONGEST_ID and is_storable(str(value)) else ""


@dataclass(frozen=True)
class ToolFile:
    """What one file says."""

    targets: Mapping[str, DescribedTarget]
    tools: Mapping[str, DescribedTool]

    def tool(self, name: str) -> DescribedTool:
        """Return how a tool's calls are read; of one that the file does not name nothing is known."""
        return self.tools.get(name, DescribedTool())


def is_storable(text: str) -> bool:
    """Say whether the databases can hold a text: no NUL and no half of a surrogate pair."""
    return not re.search("[\0\ud800-\udfff]", text)


def read(text: str) -> ToolFile:
    """Return what the file says; raises BadToolFileError naming every fault."""
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadToolFileError([f"This is not TOML: {error}"]) from None
    faults = [f"{path}: {what}" for path, what in _faults(tables)]
    if faults:
        raise BadToolFileError(faults)
    targets = {
        name: DescribedTarget(table["base_url"], table.get("audience", ""))
        for name, table in tables.get("targets", {}).items()
    }
    return ToolFile(targets, {name: _tool(table) for name, table in tables["tools"].items()})


def _tool(table: Mapping[str, str]) -> DescribedTool:
    same = ("target", "type", "revoke", "failure", "title", "reason")
    return DescribedTool(
        revoke_class=RevokeClass(table["class"]),
        operation=Operation(table.get("operation", Operation.UPDATE.value)),
        pointer=table.get("id", ""),
        **{name: table[name] for name in same if name in table},
    )


def _below(value: Any, name: str) -> Any:
    if isinstance(value, list) and name.isascii() and name.isdigit():
        return value[int(name)]
    if isinstance(value, dict):
        return value[name]
    raise LookupError(name)


# -- What can be wrong ----------------------------------------------------------------------------------------------


def _faults(tables: Mapping[str, Any]) -> Iterator[Fault]:
    strange = sorted({*tables} - {*LONGEST_NAME})
    yield from ((name, "no such table; right are [targets.NAME] and [tools.NAME]") for name in strange)
    if not isinstance(tables.get("tools"), dict) or not tables["tools"]:
        yield "tools", "no tool is described; right is at least one [tools.NAME]"
    for kind, longest in LONGEST_NAME.items():
        entries = tables.get(kind, {})
        if not isinstance(entries, dict):
            yield kind, f"right is [{kind}.NAME]"
            continue
        for name, table in entries.items():
            path = f"{kind}.{name}"
            if not 0 < len(name) <= longest or not is_storable(name):
                yield path, f"a name has 1 to {longest} characters, and no NUL"
            elif not isinstance(table, dict):
                yield path, f"right is a table, [{path}]"
            else:
                yield from ((f"{path}.{member}", what) for member, what in _faults_of(kind, table, tables))


def _faults_of(kind: str, table: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with the members as such, and only where nothing is, what is wrong with what they say."""
    members = TARGET_MEMBERS if kind == "targets" else TOOL_MEMBERS
    plain = [fault for name, value in table.items() if (fault := _member_fault(name, value, members))]
    yield from plain
    if not plain and kind == "targets":
        yield from _target_faults(table)
    elif not plain:
        yield from _class_faults(table, tables)
        yield from _form_faults(table)


def _member_fault(name: str, value: Any, members: Sequence[str]) -> Fault | None:
    if name not in members:
        return name, f"no such member; right are {', '.join(members)}"
    if not isinstance(value, str) or not value.strip():
        return name, "right is a text that is not empty"
    if len(value) > MOST.get(name, LONGEST_ID) or not is_storable(value):
        return name, f"right are at most {MOST.get(name, LONGEST_ID)} characters, and no NUL"
    return None


def _target_faults(table: Mapping[str, str]) -> Iterator[Fault]:
    example = "right is an address such as https://airline.example/api"
    if "base_url" not in table:
        yield "base_url", f"missing; {example}"
        return
    try:
        url = urlsplit(table["base_url"])
        good = url.scheme in {"http", "https"} and url.hostname and url.port != 0
    except ValueError:
        good = False
    if not good or url.username is not None or url.query or url.fragment or re.search(r"\s", table["base_url"]):
        yield "base_url", f"{table['base_url']!r} is no address of a service, with nothing after its path; {example}"


def _class_faults(table: Mapping[str, str], tables: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what does not fit the tool's class."""
    known = tables["targets"] if isinstance(tables.get("targets"), dict) else {}
    if "target" in table and table["target"] not in known:
        yield "target", f"{table['target']!r} is not described; right are {_listed(known)} or a new [targets.NAME]"
    match table.get("class"):
        case RevokeClass.NONE.value:
            yield from _none_faults(table)
        case RevokeClass.EXTERNAL.value:
            yield from _external_faults(table)
        case RevokeClass.LOCAL.value:
            yield "class", f"what ran elsewhere is never local_compensate; right are {_listed(CLASSES)}"
        case wrong:
            said = "missing" if wrong is None else f"{wrong!r} is no class"
            yield "class", f"{said}; right are {_listed(CLASSES)}"


def _none_faults(table: Mapping[str, str]) -> Iterator[Fault]:
    if "reason" not in table:
        yield "reason", "missing; right is why nothing that this tool does can be taken back"
    if "revoke" in table:
        yield "revoke", "a tool of class none has no way back; right is class governed_external, or no revoke"


def _external_faults(table: Mapping[str, str]) -> Iterator[Fault]:
    needed = [name for name in ("target", "operation", "type") if name not in table]
    yield from ((name, "missing; a tool of class governed_external needs it") for name in needed)
    if "{id}" in table.get("revoke", "") and "id" not in table:
        yield "id", "missing; right is the JSON pointer to the id in the result, such as /reservation_id"


def _form_faults(table: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what is not written as it has to be."""
    if "operation" in table and table["operation"] not in {item.value for item in Operation}:
        yield "operation", f"{table['operation']!r} is none; right are {_listed(item.value for item in Operation)}"
    if "id" in table and not POINTER.fullmatch(table["id"]):
        yield "id", f"{table['id']!r} is no JSON pointer; right is one such as /reservation_id"
    if "revoke" in table and not _is_compensation(table["revoke"]):
        yield "revoke", f"{table['revoke']!r} is no request; right is one such as DELETE /reservations/{{id}}"
    if "title" in table and not _is_title(table["title"]):
        yield "title", "right are texts and members of the arguments, such as Booked {arguments.origin}"


def _is_compensation(text: str) -> bool:
    return bool(COMPENSATION.fullmatch(text)) and not set("{}") & set(text.replace("{id}", ""))


def _is_title(text: str) -> bool:
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return False
    return all(
        name is None or (name.startswith("arguments.") and not spec and not turn) for _, name, spec, turn in parts
    )


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none so far"
