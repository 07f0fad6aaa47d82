"""What does a plan look like after some edits? Edits as JSON Patch (RFC 6902), applied to a copy."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from plans.core.sentences import Path
from plans.core.words import place, shown


@dataclass(frozen=True)
class Edit:
    """One change, and the rule it is made for."""

    rule: str
    op: str  # "add" | "replace" | "remove"
    path: Path
    value: Any = None

    @property
    def shown(self) -> str:
        """Return the place, and the value where there is one, on one short line."""
        return place(self.path) if self.op == "remove" else f"{place(self.path)} = {shown(self.value)}"

    def as_json(self) -> dict[str, Any]:
        """Return the edit as a JSON Patch operation."""
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in self.path)
        operation = {"op": self.op, "path": "".join("/" + part for part in parts)}
        return operation if self.op == "remove" else {**operation, "value": self.value}


@dataclass
class Draft:
    """A copy of a plan, the edits made to it and why."""

    tree: dict[str, Any]
    edits: list[Edit] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tree: dict[str, Any]) -> "Draft":
        """Begin with a copy of a plan."""
        return cls(copy.deepcopy(tree))

    def put(self, rule: str, path: Path, value: Any) -> None:
        """Set a member."""
        owner = self._owner(path)
        op = "replace" if path[-1] in owner else "add"
        owner[path[-1]] = value
        self.edits.append(Edit(rule, op, path, value))

    def drop(self, rule: str, path: Path) -> None:
        """Remove a member, if it is there."""
        owner = self._owner(path)
        if path[-1] in owner:
            del owner[path[-1]]
            self.edits.append(Edit(rule, "remove", path))

    def because(self, reason: str) -> None:
        """Say why, in a sentence a reader can decide by."""
        self.reasons.append(reason)

    def _owner(self, path: Path) -> Any:
        owner: Any = self.tree
        for part in path[:-1]:
            owner = owner[part]
        return owner

    def plan_bytes(self) -> bytes:
        """Return the edited plan, ready to copy."""
        return json.dumps(self.tree, indent=2, ensure_ascii=False).encode()
