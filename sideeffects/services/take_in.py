"""Take in what transcripts tell: each call is recorded as reported, marked imported, once however often it is read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sideeffects.actors import Actor
from sideeffects.declarations import Declared, declaration_digest, fingerprint
from sideeffects.models import Group, Target
from sideeffects.services.declare import declare_target, declare_tool
from sideeffects.services.land import Recorded
from sideeffects.services.record import Status, ToolCall, record
from sideeffects.toolfiles import DescribedTool, ToolFile
from sideeffects.tools import REGISTRY, Contract
from sideeffects.transcripts import Conversation, ToolUse


class ToolsOfThisConsoleError(Exception):
    """The file describes tools that this console declares itself."""

    def __init__(self, tools: Sequence[str]) -> None:
        self.tools = list(tools)
        super().__init__(f"This console declares {', '.join(self.tools)} itself; take that out of the file.")


@dataclass
class Figures:
    """What an import came to. `calls` is the sum of `failed`, `groups` and `conflicts` (created now) and `replays`.

    Beside that: `in_flight` groups created without a result, objects `without_id` where the tool's results should
    hold one, calls whose arguments were `unreadable`, conflicts `not_kept` because of the cap, and `unknown` tools.
    """

    failed: int = 0
    groups: int = 0
    replays: int = 0
    conflicts: int = 0
    in_flight: int = 0
    without_id: int = 0
    unreadable: int = 0
    not_kept: int = 0
    unknown: set[str] = field(default_factory=set)

    @property
    def calls(self) -> int:
        """Return how many calls were read."""
        return self.failed + self.groups + self.replays + self.conflicts

    def as_json(self) -> dict[str, int]:
        """Return the five figures that an import prints."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "groups": self.groups,
            "replays": self.replays,
            "conflicts": self.conflicts,
        }


def describe(*, tools: ToolFile, by: Actor, now: datetime) -> list[Target]:
    """Declare the file's targets and tools; return the targets that are known under another address, which stays.

    Raises ToolsOfThisConsoleError, before anything is written. Writes `target_seen` and `tool_declared`.
    """
    own = sorted(REGISTRY.keys() & tools.tools.keys())
    if own:
        raise ToolsOfThisConsoleError(own)
    rows = [
        declare_target(name=name, base_url=target.base_url, audience=target.audience, by=by, now=now)
        for name, target in tools.targets.items()
    ]
    for name, tool in tools.tools.items():
        declare_tool(name=name, contract=_contract(tool), by=by, now=now)
    return [row for row in rows if (row.base_url, row.audience) != _address(tools, row.name)]


def _address(tools: ToolFile, name: str) -> tuple[str, str]:
    return tools.targets[name].base_url, tools.targets[name].audience


def _contract(tool: DescribedTool) -> Contract:
    return Contract(
        revoke_class=tool.revoke_class,
        reason=tool.reason,
        target=tool.target,
        compensations={tool.operation.value: tool.revoke} if tool.revoke else {},
        title=tool.title,
    )


def take_in(*, conversations: Iterable[Conversation], tools: ToolFile, owner: Any, by: Actor, now: datetime) -> Figures:
    """Record every call of these conversations for an owner, each in a transaction of its own, and count.

    What was interrupted is completed by taking in the same again. Writes `group_landed`, `group_opened`,
    `call_failed`, `declaration_differed`.
    """
    figures = Figures()
    for conversation in conversations:
        # How often each declaration stands in this line: conversations are often written out again as they grow.
        seen: Counter[tuple[str, str]] = Counter()
        for use in conversation.calls:
            tool = tools.tool(use.tool)
            call = ToolCall(
                tool=use.tool, arguments=use.arguments, conversation=conversation.name, run=conversation.run
            )
            status, effects = _said(use, tool)
            declared = (fingerprint(tool=use.tool, arguments=use.arguments), declaration_digest(effects))
            seen[declared] += 1
            result = record(
                call=call,
                status=status,
                effects=effects,
                owner=owner,
                by=by,
                now=now,
                source=Group.Source.IMPORTED,
                occurrence=seen[declared],
            )
            _count(figures, use, tool, effects, result)
            if use.tool not in tools.tools:
                figures.unknown.add(use.tool)
    return figures


def _said(use: ToolUse, tool: DescribedTool) -> tuple[Status, list[Declared]]:
    """Return what the transcript says of a call."""
    if use.result is None:
        return Status.IN_FLIGHT, []
    if tool.failed(use.result):
        return Status.FAILED, []
    return Status.LANDED, [tool.declared(use.tool, use.result)]


def _count(figures: Figures, use: ToolUse, tool: DescribedTool, effects: Sequence[Declared], result: Recorded) -> None:
    match result.result:
        case "failed":
            figures.failed += 1
        case "conflict" if result.created:
            figures.conflicts += 1
        case "recorded" | "opened" if result.created:
            figures.groups += 1
        case _:
            figures.replays += 1
    figures.in_flight += result.result == "opened"
    figures.not_kept += result.conflict is not None and result.conflict._state.adding
    figures.without_id += bool(tool.pointer) and any(not effect.id for effect in effects)
    figures.unreadable += not use.readable
