"""What may be sent? The body of each call, member by member."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from sideeffects import dependants
from sideeffects.api.strict import Moment, Name, Strict, Text
from sideeffects.declarations import Declared
from sideeffects.services.record import Status, ToolCall
from sideeffects.tools import REGISTRY
from sideeffects.transitions import Operation

MOST_EFFECTS = 10_000
LONGEST = 200  # as the columns are
LONGEST_REASON = 1000


class DeclaredBody(Strict):
    """One object that a call says it wrote."""

    type = Name(max_length=60, help_text="What kind of thing it is, e.g. `contact`.")
    id = Name(
        max_length=LONGEST,
        allow_blank=True,
        required=False,
        help_text="How its own system names it; left out where the system gives none (a sent e-mail).",
    )
    operation = serializers.ChoiceField([item.value for item in Operation])
    title = Text(max_length=500, required=False, allow_blank=True, help_text="Shown as the agent's words.")
    version = Text(max_length=LONGEST, required=False, allow_blank=True, help_text="E.g. its ETag after the call.")
    undo_expires_at = Moment(required=False, help_text="Until when its system says that it can be undone.")


class EffectsBody(Strict):
    """What a call says it wrote, principal first."""

    effects = DeclaredBody(many=True, max_length=MOST_EFFECTS)  # type: ignore[call-arg]  # (many=True takes it)

    @property
    def declared(self) -> list[Declared]:
        """Return the objects as the domain knows them."""
        return declared(self.validated_data["effects"])


class ToolCallBody(Strict):
    """One call of a tool. For a tool that runs here, `effects` is left out; for any other `status` is required."""

    tool = Name(max_length=LONGEST)
    arguments = serializers.DictField(help_text="As the tool was called; kept as a digest only, never shown.")
    conversation = Name(max_length=LONGEST, help_text="The talk that the call belongs to.")
    run = Name(max_length=LONGEST, required=False, allow_blank=True, default="")
    execution = Name(max_length=LONGEST, required=False, allow_blank=True, default="")
    step = Name(max_length=LONGEST, required=False, allow_blank=True, default="")
    status = serializers.ChoiceField(
        [item.value for item in Status],
        required=False,
        help_text="What became of the call. In flight: its intent, before it runs; it lands later.",
    )
    effects = DeclaredBody(many=True, max_length=MOST_EFFECTS, required=False)  # type: ignore[call-arg]  # (as above)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Hold status and effects to each other and to where the tool runs."""
        status, effects = attrs.get("status"), attrs.get("effects")
        wrong = _wrong_here(status, effects) if self.runs_here(attrs["tool"]) else _wrong_elsewhere(status, effects)
        if wrong:
            raise serializers.ValidationError(wrong)
        return attrs

    @staticmethod
    def runs_here(tool: str) -> bool:
        """Say whether this process runs the tool itself."""
        return tool in REGISTRY and REGISTRY[tool].function is not None

    def call(self, *, idempotency_key: str) -> ToolCall:
        """Return the call as the domain knows it."""
        said = {name: value for name, value in self.validated_data.items() if name not in {"status", "effects"}}
        return ToolCall(**said, idempotency_key=idempotency_key)

    def report(self) -> dict[str, Any]:
        """Return what the agent says became of a call that ran elsewhere."""
        effects = self.validated_data.get("effects", [])
        return {"status": Status(self.validated_data["status"]), "effects": declared(effects)}


class ReasonBody(Strict):
    """Why, in the asker's words: needed for acting on what is another's."""

    reason = Text(max_length=LONGEST_REASON, required=False, allow_blank=True, default="")


class RevokeBody(ReasonBody):
    """How a call is taken back where something has happened since."""

    override = serializers.BooleanField(
        required=False, default=False, help_text="Take it back over later changes; a person's decision. Needs `seen`."
    )
    seen = Text(
        max_length=64,
        required=False,
        allow_blank=True,
        default="",
        help_text="As the refusal `edited-since` gave it: an override passes over exactly these changes.",
    )
    dependants = serializers.ChoiceField(
        ["refuse", "leave", "include"],
        required=False,
        default="refuse",
        help_text="What becomes of later actions that build on this one: refuse while they stand, leave them as they "
        "are, or include them, the newest first.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Hold an override to what was seen."""
        if attrs["override"] and not attrs["seen"]:
            raise serializers.ValidationError({"seen": ["An override says what it has seen."]})
        return attrs

    def asked(self, group: UUID) -> dict[str, Any]:
        """Return what the service is asked for."""
        said = self.validated_data
        return {
            "groups": dependants.closure([group]) if said["dependants"] == "include" else [group],
            "reason": said["reason"],
            "overrides": {group: said["seen"]} if said["override"] else {},
            "leave_later": said["dependants"] == "leave",
        }


def declared(effects: list[dict[str, Any]]) -> list[Declared]:
    """Return declared objects as the domain knows them."""
    return [Declared(**{"id": "", **item, "operation": Operation(item["operation"])}) for item in effects]


def _wrong_here(status: str | None, effects: Any) -> dict[str, list[str]]:
    wrong = {}
    if status not in {None, Status.LANDED}:
        wrong["status"] = ["This tool runs here, so what becomes of it is known here: leave it out."]
    if effects is not None:
        wrong["effects"] = ["This tool runs here, so what it writes is recorded here: leave it out."]
    return wrong


def _wrong_elsewhere(status: str | None, effects: Any) -> dict[str, list[str]]:
    if status is None:
        return {"status": ["Say what became of the call: landed, in_flight or failed."]}
    if status == Status.LANDED and effects is None:
        return {"effects": ["Say what the call wrote; an empty list says that it wrote nothing."]}
    if status != Status.LANDED and effects:
        return {"effects": ["Only a call that has landed has written something."]}
    return {}
