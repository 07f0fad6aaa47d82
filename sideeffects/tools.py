"""What can be executed here, and what does each tool promise? The `@tool` registry and the contract it pins."""

import json
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from rest_framework.serializers import Serializer

from sideeffects.compensations import BadCompensationError, check_path, compensation
from sideeffects.transitions import Operation, RevokeClass

NOT_DECLARED = "No contract is declared for this tool, so nothing is known that would undo it"


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What a tool declares about itself; its canonical form is pinned to each group.

    `compensations` maps an operation to what is asked of the target, e.g. `{"create": "DELETE /contacts/{id}"}`, see
    `sideeffects.compensations`; `status` is the path at which the object itself can be read, e.g. `/contacts/{id}`.
    `stale_minutes`: how long one of its requests or calls may stay unresolved. `undo_minutes`: the undo window of what
    it writes, from the landing on, where the call declares none.
    `title` is a template over `{arguments.…}`. `blocked` tools are refused before anything happens. A step of a plan
    whose tool is `human` waits for a person's decision.
    """

    revoke_class: RevokeClass
    reason: str = ""
    target: str = ""
    compensations: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    blocked: bool = False
    status: str = ""
    stale_minutes: int | None = None
    undo_minutes: int | None = None
    human: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the members that are kept, compared and shown."""
        members = {**asdict(self), "revoke_class": self.revoke_class.value, "compensations": dict(self.compensations)}
        return members if self.human else {name: value for name, value in members.items() if name != "human"}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Contract":
        """Return the contract whose `as_json` this is."""
        return cls(**{**value, "revoke_class": RevokeClass(value["revoke_class"])})

    def classify(self, operation: Operation, *, named: bool = True) -> tuple[RevokeClass, str]:
        """Return how far a revoke of one *external* object gets, and the reason where it gets nowhere.

        `named`: whether the call said under which id the target knows the object.
        """
        if self.revoke_class is RevokeClass.NONE:
            return RevokeClass.NONE, self.reason
        if operation.value not in self.compensations:
            return RevokeClass.NONE, f"No way back is declared for {operation.value}"
        if "{id}" in self.compensations[operation.value] and not named:
            return RevokeClass.NONE, "No id was declared, so there is nothing to name to the target"
        if not self._can_be_asked(operation):
            return RevokeClass.NONE, f"The way back that is declared for {operation.value} cannot be asked of a target"
        return RevokeClass.EXTERNAL, ""

    def _can_be_asked(self, operation: Operation) -> bool:
        try:
            compensation(self.compensations[operation.value])
            if self.status:
                check_path(self.status)
        except BadCompensationError:
            return False
        return True

    def title_of(self, arguments: Mapping[str, Any]) -> str:
        """Return the title for these arguments, or nothing where the template asks for one that is not there."""
        try:
            return _Titles().vformat(self.title, (), {"arguments": arguments}).replace("\0", "")
        except (KeyError, IndexError, ValueError):
            return ""


class _Titles(string.Formatter):
    """`{arguments.origin}` reads a member of the arguments and never an attribute of an object."""

    def get_field(
        self,
        field_name: str,
        args: Sequence[Any],  # noqa: ARG002  (the base class's signature)
        kwargs: Mapping[str, Any],
    ) -> tuple[Any, str]:
        first, *path = field_name.split(".")
        value = kwargs[first]
        for name in path:
            if not isinstance(value, Mapping):
                raise KeyError(name)
            value = value[name]
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write texts as they are and the rest as JSON; a format could ask for a billion blanks, so there are none."""
        if format_spec:
            raise ValueError(format_spec)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class ToolRefusesError(Exception):
    """A tool does not do what it is asked; its words are this program's own and are shown."""


class RowsNotThereError(Exception):
    """A tool was asked about rows that are not there, or not there for this owner: the answer is the same."""

    def __init__(self, type_: str, ids: Sequence[str]) -> None:
        self.type, self.ids = type_, list(ids)
        super().__init__(f"There is no {type_} {', '.join(self.ids)} that this call may change.")


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a tool that is executed here may know: for whom, by whom, and when.

    `hold(type, ids)` locks rows of the owner that stand, notes the version each is at, and returns them in order. What
    a tool changes, deletes or hangs something under, it holds first, the types in the order in which their adapters
    are registered; raises RowsNotThereError.
    """

    owner: Any
    by: str
    now: datetime
    hold: Callable[[str, Sequence[str]], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Written:
    """One object that a tool executed here wrote; `external` where a target holds it under an id it was given."""

    type: str
    id: str
    operation: Operation = Operation.CREATE
    title: str = ""
    version: str = ""
    external: bool = False


Function = Callable[[dict[str, Any], Call], Sequence[Written]]


@dataclass(frozen=True)
class RegisteredTool:
    """A tool that this process knows: executed here when it has a function, else only reported."""

    name: str
    contract: Contract
    arguments: type[Serializer[Any]] | None = None
    function: Function | None = None


REGISTRY: dict[str, RegisteredTool] = {}


class ToolRegisteredTwiceError(Exception):
    """Two functions claim one tool name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Two tools are called {name}.")


def declare(name: str, contract: Contract) -> None:
    """Make known a tool that agents run elsewhere and report; raises ToolRegisteredTwiceError."""
    if name in REGISTRY:
        raise ToolRegisteredTwiceError(name)
    REGISTRY[name] = RegisteredTool(name, contract)


def tool(name: str, *, arguments: type[Serializer[Any]], contract: Contract) -> Callable[[Function], Function]:
    """Register a function that writes rows of this database and returns them, principal first.

    It runs inside the transaction that also records its effects, so it must touch nothing but the database.
    """

    def register(function: Function) -> Function:
        declare(name, contract)
        REGISTRY[name] = RegisteredTool(name, contract, arguments, function)
        return function

    return register
