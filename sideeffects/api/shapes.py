"""What does the API answer of groups and their members? Never a key, a fingerprint, arguments or a token."""

from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from sideeffects import presenters
from sideeffects.dependants import How, Later
from sideeffects.models import Declaration, Effect, Fence, Group, Revocation
from sideeffects.presenters import GroupView, effect_words, how_far
from sideeffects.requested import with_askings
from sideeffects.services import foresight
from sideeffects.services.answers import Result
from sideeffects.services.refuse import name_of
from sideeffects.transitions import EffectState, GroupState, Operation, Outcome, RevokeClass, Standing

MOST_SHOWN = 100  # members, records, revocations and differences in one answer; the address of all stands beside


def one_of(enum: type[Enum], **options: Any) -> serializers.ChoiceField:
    """Return a field for one of the names of an enumeration."""
    return serializers.ChoiceField([item.value for item in enum], **options)


def counted(help_text: str, **options: Any) -> serializers.DictField:
    """Return a field for numbers by name."""
    return serializers.DictField(child=serializers.IntegerField(), help_text=help_text, **options)


class Shape(serializers.Serializer[Any]):
    """An answer; it is only ever written."""

    @classmethod
    def of(cls, value: Any) -> Any:
        """Return what is said of one, where no context is asked for."""
        return _made(cls).to_representation(value)

    @classmethod
    def of_all(cls, values: Iterable[Any]) -> list[Any]:
        """Return what is said of each."""
        return [cls.of(value) for value in values]


@cache
def _made(shape: type[Shape]) -> Shape:
    """Return the one that writes all answers of its kind: to make it costs more than to use it."""
    return shape()


class WhoSerializer(Shape):
    """A person or an agent, by name."""

    type = serializers.ChoiceField(["user", "agent"])
    name = serializers.CharField()


class EffectSerializer(Shape):
    """One object that a call created, changed or deleted."""

    effect = serializers.UUIDField(source="pk")
    url = serializers.SerializerMethodField()
    group = serializers.UUIDField(source="group_id")
    position = serializers.IntegerField(help_text="0 is the principal: the root business object")
    type = serializers.CharField()
    id = serializers.CharField(source="object_id", help_text="as its own system names it; empty where it gave none")
    operation = one_of(Operation)
    title = serializers.CharField(help_text="the agent's words")
    version = serializers.CharField()
    undo_expires_at = serializers.DateTimeField(allow_null=True, help_text="as declared; its system decides")
    revoke_class = one_of(RevokeClass, source="revoke_class")
    how_far = serializers.SerializerMethodField(help_text="how far a revoke gets")
    reason = serializers.CharField(help_text="why it cannot come back; empty where it can")
    target = serializers.SerializerMethodField(help_text="the system that holds it; null for this one")
    state = one_of(EffectState)
    state_at = serializers.DateTimeField()
    words = serializers.SerializerMethodField(help_text="where it stands, as every page says it")
    revocation = serializers.UUIDField(source="revocation_id", allow_null=True)
    in_trash_until = serializers.SerializerMethodField(help_text="null where it lies in no trash")
    restored_at = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call the class `class`, which Python keeps for itself."""
        return {{"revoke_class": "class"}.get(name, name): field for name, field in super().get_fields().items()}

    def get_url(self, effect: Effect) -> str:
        """Return its address."""
        return reverse("api-effect", args=[effect.pk])

    def get_how_far(self, effect: Effect) -> str:
        """Return how far a revoke of it gets, in words."""
        return how_far(effect)

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_target(self, effect: Effect) -> str | None:
        """Return the target's name."""
        return effect.target.name if effect.target else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_in_trash_until(self, effect: Effect) -> Any:
        """Return when it is purged; what was put back or undeleted never is."""
        lies = effect.state == EffectState.REVOKED and effect.operation == Operation.CREATE
        return serializers.DateTimeField().to_representation(effect.purge_at) if lies and effect.purge_at else None

    def get_words(self, effect: Effect) -> str:
        """Return the sentence: of its request, where one is carried, since that knows whether anything has left."""
        asking = getattr(effect, "asking", None)
        return str(asking.words if asking else effect_words(effect))


class GroupSerializer(Shape):
    """One tool call and where it stands; numbers, not members."""

    id = serializers.UUIDField(source="group.pk")
    url = serializers.SerializerMethodField()
    summary = serializers.CharField(help_text="what the call did, in this system's words")
    agents_words = serializers.CharField(help_text="what the agent calls it")
    standing = one_of(Standing)
    words = serializers.CharField(source="state_words", help_text="where it stands, as every page says it")
    complete = serializers.BooleanField(help_text="true only if everything declared is undone and nothing is undecided")
    counts = counted("how many members are in each state")
    declared = serializers.IntegerField(help_text="how many objects the call declares: what is known, not everything")
    state = one_of(GroupState, source="group.state", help_text="where the call stands as a call")
    tool = serializers.CharField(source="group.tool")
    tool_version = serializers.CharField(source="group.version_number", allow_null=True)
    source = one_of(Group.Source, source="group.source")  # type: ignore[assignment]  # (a member, not the option)
    owner = serializers.CharField(source="group.owner.get_username")
    agent = serializers.SerializerMethodField()
    conversation = serializers.CharField(source="group.conversation")
    run = serializers.CharField(source="group.run")
    execution = serializers.CharField(source="group.execution")
    step = serializers.CharField(source="group.step")
    opened_at = serializers.DateTimeField(source="group.opened_at")
    landed_at = serializers.DateTimeField(source="group.landed_at", allow_null=True)
    ended_at = serializers.DateTimeField(
        source="group.ended_at", allow_null=True, help_text="when it failed or was lost"
    )
    agents_reason = serializers.CharField(source="group.reason", help_text="why, in the agent's words")
    notes = serializers.ListField(child=serializers.CharField(), help_text="what else is known of it, in sentences")
    again_after_revoke = serializers.BooleanField(source="group.again_after_revoke")
    conflict_open = serializers.SerializerMethodField()
    targets = serializers.ListField(child=serializers.CharField())
    can_revoke = serializers.BooleanField(help_text="whether a revoke by whoever asks takes anything back now")
    can_restore = serializers.BooleanField()
    can_fence = serializers.BooleanField(help_text="whether whoever asks may have it revoked when it arrives")
    stale_at = serializers.DateTimeField(
        allow_null=True, help_text="when what is unresolved of it turned or turns stale"
    )
    needs_reason = serializers.BooleanField(help_text="whether acting on it takes a typed reason")
    effects = serializers.SerializerMethodField(help_text="the address of all members, principal first")

    def get_url(self, view: GroupView) -> str:
        """Return its address."""
        return reverse("api-group", args=[view.group.pk])

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_agent(self, view: GroupView) -> str | None:
        """Return the agent's name."""
        return view.group.agent.name if view.group.agent else None

    def get_conflict_open(self, view: GroupView) -> bool:
        """Say whether a differing declaration is undecided."""
        return bool(view.open_conflicts)

    def get_effects(self, view: GroupView) -> str:
        """Return the address of its members."""
        return members_address(view.group.pk)


def members_address(group: UUID, state: str = "") -> str:
    """Return the address of a group's members, of all or of those in one state."""
    return f"{reverse('api-effects')}?group={group}" + (f"&state={state}" if state else "")


class ConflictSerializer(Shape):
    """A declaration that differs from the one that is held; of long differences the first members."""

    id = serializers.UUIDField(source="pk")
    open = serializers.SerializerMethodField()
    kept = serializers.BooleanField(help_text="false: it stands for all that came past the cap; it can be dismissed")
    seen = serializers.IntegerField(help_text="how often it was declared so")
    first_seen_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    declared_by = serializers.CharField()
    difference = serializers.SerializerMethodField()
    numbers = serializers.SerializerMethodField()
    resolution = one_of(Declaration.Resolution, allow_blank=True, help_text="how a person decided; empty while open")
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolved_by = serializers.CharField()
    resolved_reason = serializers.CharField()
    stands_in = serializers.UUIDField(source="split_into_id", allow_null=True, help_text="the group it was split into")

    def get_open(self, row: Declaration) -> bool:
        """Say whether nobody has decided about it."""
        return row.resolved_at is None

    @extend_schema_field(serializers.DictField(help_text="only_first, only_second, changed; or another principal"))
    def get_difference(self, row: Declaration) -> dict[str, Any]:
        """Return what only the first, only this, or both declared differently."""
        return presenters.difference_shown(row, MOST_SHOWN)

    @extend_schema_field(counted("how many members differ in each way"))
    def get_numbers(self, row: Declaration) -> dict[str, int]:
        """Return how many members differ in each way."""
        return {name: len(value) for name, value in row.difference.items() if isinstance(value, list)}


class FenceSerializer(Shape):
    """That a call in flight is to be revoked when it arrives: who said so, and what came of it."""

    id = serializers.UUIDField(source="pk")
    group = serializers.UUIDField(source="group_id")
    state = serializers.ChoiceField(
        ["waiting", "lifted", *Fence.Result.values], help_text="fired: the group says how far the revoke got"
    )
    set_at = serializers.DateTimeField()
    set_by = serializers.CharField()
    authority = one_of(Revocation.Authority)
    reason = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    lifted_by = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)
    detail = serializers.CharField(help_text="what to know of how it ended")


class RevocationSerializer(Shape):
    """One asking: who, when, why; and whether what it removed came back."""

    id = serializers.UUIDField(source="pk")
    asked_at = serializers.DateTimeField()
    by = serializers.SerializerMethodField()
    trigger = one_of(Revocation.Trigger)
    authority = one_of(Revocation.Authority)
    reason = serializers.CharField()
    restored_at = serializers.DateTimeField(allow_null=True)
    restored_by = serializers.CharField()

    @extend_schema_field(WhoSerializer)
    def get_by(self, row: Revocation) -> dict[str, str]:
        """Return who asked: the agent itself where one did, never whom it acts for."""
        if row.agent:
            return {"type": "agent", "name": row.agent.name}
        return {"type": "user", "name": row.user.get_username()}


class GroupRecordSerializer(Shape):
    """A record of the log that speaks of a group, and its address for those who may read the log."""

    uid = serializers.UUIDField()
    url = serializers.SerializerMethodField()
    action = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    leaf_hash = serializers.CharField()

    def get_url(self, record: Any) -> str:
        """Return its address."""
        return reverse("api-audit-record", args=[record.uid])


class WroteSerializer(Shape):
    """One field that an agent changed here."""

    field = serializers.CharField(source="label")
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class ChangedSerializer(Shape):
    """One object that a call changed here, field by field."""

    effect = serializers.UUIDField()
    fields_ = WroteSerializer(many=True, source="fields_")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call the fields `fields`, which the framework keeps for itself."""
        return {{"fields_": "fields"}.get(name, name): field for name, field in super().get_fields().items()}


class LaterSerializer(Shape):
    """A later action that builds on this one, and how."""

    group = serializers.UUIDField()
    url = serializers.SerializerMethodField()
    how = serializers.SerializerMethodField()

    def get_url(self, later: Later) -> str:
        """Return its address."""
        return reverse("api-group", args=[later.group])

    @extend_schema_field(serializers.ListField(child=one_of(How)))
    def get_how(self, later: Later) -> list[str]:
        """Return in which ways."""
        return sorted(later.how)


class GroupPageSerializer(GroupSerializer):
    """One tool call with its first members, its conflicts, and what was asked about it."""

    members = serializers.SerializerMethodField(help_text=f"the first {MOST_SHOWN}; `effects` is the address of all")
    conflicts = serializers.SerializerMethodField()
    fences = serializers.SerializerMethodField(help_text="newest first")
    changed = serializers.SerializerMethodField(
        help_text="what those of them that were changed here said before, and after"
    )
    later = serializers.SerializerMethodField(help_text="standing actions that build on this one, newest first")
    revocations = serializers.SerializerMethodField(help_text="newest first")
    records = serializers.SerializerMethodField(help_text="newest first")

    @extend_schema_field(EffectSerializer(many=True))
    def get_members(self, view: GroupView) -> Any:
        """Return the first members, principal first."""
        members = view.first_members(MOST_SHOWN)
        return EffectSerializer.of_all(members if view.is_fresh else with_askings(members))

    @extend_schema_field(ChangedSerializer(many=True))
    def get_changed(self, view: GroupView) -> Any:
        """Return what was changed here, field by field."""
        wrote = foresight.wrote(view.first_members(MOST_SHOWN))
        return ChangedSerializer.of_all({"effect": key, "fields_": some} for key, some in wrote.items())

    @extend_schema_field(LaterSerializer(many=True))
    def get_later(self, view: GroupView) -> Any:
        """Return what builds on it."""
        later = [] if view.is_fresh else foresight.later(view.group, by=view.by)
        return LaterSerializer.of_all(one for one, _ in later)

    @extend_schema_field(ConflictSerializer(many=True))
    def get_conflicts(self, view: GroupView) -> Any:
        """Return every declaration that differs, decided or not."""
        return ConflictSerializer.of_all(view.rows.conflicts)

    @extend_schema_field(FenceSerializer(many=True))
    def get_fences(self, view: GroupView) -> Any:
        """Return what was to be revoked on arrival."""
        return FenceSerializer.of_all(view.fences)

    @extend_schema_field(RevocationSerializer(many=True))
    def get_revocations(self, view: GroupView) -> Any:
        """Return who asked to take it back."""
        return RevocationSerializer.of_all(view.revocations(MOST_SHOWN))

    @extend_schema_field(GroupRecordSerializer(many=True))
    def get_records(self, view: GroupView) -> Any:
        """Return what stands of it on the log."""
        return GroupRecordSerializer.of_all(view.records(MOST_SHOWN))


class NothingRecordedSerializer(Shape):
    """A failure reported at once: nothing stands of it."""

    group = serializers.CharField(allow_null=True)
    detail = serializers.CharField()


RECORDED = PolymorphicProxySerializer(
    component_name="Recorded",
    serializers=[GroupPageSerializer, NothingRecordedSerializer],
    resource_type_field_name=None,
)


class MemberSerializer(Shape):
    """What became of one member."""

    effect = serializers.UUIDField(source="effect.pk")
    type = serializers.CharField(source="effect.type")
    id = serializers.CharField(source="effect.object_id")
    state = one_of(EffectState, source="effect.state")
    outcome = one_of(Outcome)
    detail = serializers.CharField()


class OnLogSerializer(Shape):
    """The record that stands on the log of it."""

    uid = serializers.UUIDField()
    leaf_hash = serializers.CharField()


class AnswerSerializer(Shape):
    """What a revoke or a restore came to, member by member."""

    group = serializers.UUIDField(source="group.pk")
    url = serializers.SerializerMethodField()
    outcome = one_of(Outcome, help_text="the weakest member's")
    standing = one_of(Standing)
    complete = serializers.BooleanField(help_text="true only if everything declared is undone and nothing is undecided")
    counts = counted("how many members had each outcome")
    members = MemberSerializer(many=True)
    record = OnLogSerializer(allow_null=True)
    already = serializers.BooleanField(help_text="true where this asking found nothing left to do and changed nothing")

    def get_url(self, answer: Any) -> str:
        """Return the group's address."""
        return reverse("api-group", args=[answer.group.pk])


class AlsoSerializer(Shape):
    """What became of a later action that was asked back with this one."""

    group = serializers.UUIDField()
    url = serializers.SerializerMethodField()
    outcome = serializers.SerializerMethodField(help_text="the weakest member's, or the name of the refusal")
    complete = serializers.SerializerMethodField()

    def get_url(self, result: Result) -> str:
        """Return its address."""
        return reverse("api-group", args=[result.group])

    def get_outcome(self, result: Result) -> str:
        """Return what it came to."""
        return result.answer.outcome.value if result.answer else name_of(result.refusal or RuntimeError)

    def get_complete(self, result: Result) -> bool:
        """Say whether everything that it declared is undone."""
        return bool(result.answer and result.answer.complete)


class RevokedSerializer(AnswerSerializer):
    """What a revoke came to, member by member, and what it came to for those that build on it, newest first."""

    also = serializers.SerializerMethodField()

    @extend_schema_field(AlsoSerializer(many=True))
    def get_also(self, _answer: Any) -> Any:
        """Return the others."""
        return AlsoSerializer(self.context.get("also", []), many=True).data
