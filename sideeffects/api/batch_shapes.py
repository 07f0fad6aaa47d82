"""What is sent and answered about batches?"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from sideeffects.api.bodies import LONGEST, ReasonBody
from sideeffects.api.schema import KEY_HEADER
from sideeffects.api.shapes import MOST_SHOWN, Shape, WhoSerializer, counted, one_of
from sideeffects.api.strict import Moment, Text
from sideeffects.batches import Preview, Scope
from sideeffects.batches.sheets import Line
from sideeffects.declarations import fingerprint
from sideeffects.models import Batch, Revocation
from sideeffects.transitions import Outcome

MOST_GROUPS = 10_000
KEY = OpenApiParameter(
    "Idempotency-Key",
    KEY_HEADER.type,
    OpenApiParameter.HEADER,
    description="The caller's own key for this asking: 1 to 200 printable ASCII characters, quoted or not. Without it "
    "each asking is a batch of its own.",
)
REPLAYED = OpenApiParameter(
    "Idempotency-Replayed",
    bool,
    OpenApiParameter.HEADER,
    response=[202],
    description="true: this was asked for before, by this key; this is that batch.",
)
LOCATION = OpenApiParameter("Location", str, OpenApiParameter.HEADER, response=[202], description="Where the batch is.")
MEMBERS = ("conversation", "run", "execution", "tool", "agent", "owner", "since", "until", "groups")


def _text(help_text: str) -> Text:
    return Text(max_length=LONGEST, required=False, help_text=help_text)


class BatchBody(ReasonBody):
    """Which actions are taken back together: each member that is said narrows, and at least one must be."""

    conversation = _text("Of this conversation.")
    run = _text("Of this run.")
    execution = _text("Of this execution of a plan.")
    tool = _text("Of this tool, by name.")
    agent = _text("Of this agent, by name.")
    owner = _text("Of this person, by name; for admins.")
    since = Moment(required=False, help_text="Called at this moment or after it.")
    until = Moment(required=False, help_text="Called before this moment.")
    groups = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        allow_empty=False,
        max_length=MOST_GROUPS,
        help_text="These calls; each counts once. One that is not there, or not yours, refuses the whole.",
    )
    dry_run = serializers.BooleanField(
        required=False, default=False, help_text="true: nothing is done, and what it would come to is answered."
    )
    seen = Text(
        max_length=LONGEST,
        required=False,
        allow_blank=True,
        default="",
        help_text="As a dry run answered it: refused where the selection has changed since.",
    )
    dependants = serializers.ChoiceField(
        ["refuse", "leave"],
        required=False,
        default="refuse",
        help_text="What becomes of an action on which later ones outside of the batch build: it is skipped, or taken "
        "back and they are left as they are.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Hold the scope to saying something."""
        if not any(name in attrs for name in MEMBERS):
            raise serializers.ValidationError(f"Say which actions: at least one of {', '.join(MEMBERS)}.")
        return attrs

    @property
    def scope(self) -> Scope:
        """Return which actions are meant."""
        said: dict[str, Any] = {name: self.validated_data[name] for name in MEMBERS if name in self.validated_data}
        for name in {"since", "until"} & said.keys():
            said[name] = datetime.fromisoformat(said[name])
        return Scope(**{**said, "groups": tuple(said.get("groups", ()))})

    def asked(self, key: str) -> dict[str, Any]:
        """Return what the service is asked for."""
        said, scope = self.validated_data, self.scope
        leave = said["dependants"] == "leave"
        asked = {"scope": scope.as_json(), "reason": said["reason"], "leave_later": leave}
        return {
            "scope": scope,
            "reason": said["reason"],
            "seen": said["seen"],
            "leave_later": leave,
            "key": key,
            "fingerprint": fingerprint(tool="batches", arguments=asked) if key else "",
            "via": Revocation.Trigger.API,
        }


class ClassesSerializer(Shape):
    """The objects that stand, by how far a revoke of them gets."""

    here = serializers.IntegerField(help_text="taken back here")
    asked = counted("only requested, by target")
    out_of_reach = counted("in targets that nobody may ask, by target")
    not_revocable = serializers.IntegerField(help_text="their tools declare no way back")


class WindowsSerializer(Shape):
    """Undo windows, as declared."""

    over = serializers.IntegerField()
    soon = serializers.IntegerField(help_text="closing within the hour")


class PreviewSerializer(Shape):
    """What a batch would come to, were it asked for now."""

    as_of = serializers.DateTimeField()
    groups = serializers.IntegerField(help_text="how many calls it would freeze")
    effects = serializers.IntegerField(help_text="how many objects they declare")
    owners = serializers.IntegerField(help_text="how many people's they are")
    by_class = serializers.SerializerMethodField()
    already = serializers.IntegerField(help_text="calls in which nothing is left to do")
    in_flight = serializers.IntegerField(help_text="calls that have not landed: skipped")
    failed = serializers.IntegerField(help_text="calls that wrote nothing, by the agent's word")
    conflicts = serializers.IntegerField(help_text="calls with a differing declaration that nobody has decided about")
    windows = WindowsSerializer()
    edited = serializers.IntegerField(allow_null=True, help_text="calls changed since; null: too many to look")
    built_on_outside = serializers.IntegerField(
        allow_null=True, help_text="later calls outside that build on these; null: too many to look"
    )
    seen = serializers.CharField(help_text="names this selection: sent along, it refuses any other")
    needs_reason = serializers.BooleanField()

    @extend_schema_field(ClassesSerializer)
    def get_by_class(self, found: Preview) -> Any:
        """Return them by names that are members of JSON."""
        named = {name.replace(" ", "_"): number for name, number in found.by_class.items()}
        return ClassesSerializer(named).data


class BatchSerializer(Shape):
    """One asking about many calls; the numbers of what came of them stand at its own address."""

    id = serializers.UUIDField(source="pk")
    url = serializers.SerializerMethodField()
    kind = one_of(Batch.Kind)
    of = serializers.UUIDField(  # type: ignore[assignment]  # (a member, not the method)
        source="of_id", allow_null=True, help_text="of a restore: the batch whose doing it undoes"
    )
    state = one_of(Batch.State)
    state_at = serializers.DateTimeField()
    state_by = serializers.CharField(help_text="`user:NAME`, `agent:NAME` or `system:NAME`")
    scope = serializers.DictField(help_text="what was asked for, as it was said")
    asked_at = serializers.DateTimeField()
    by = serializers.SerializerMethodField()
    authority = one_of(Revocation.Authority)
    reason = serializers.CharField()
    groups = serializers.IntegerField(help_text="how many calls are frozen in it")
    effects = serializers.IntegerField(help_text="how many objects they declare")
    items = serializers.SerializerMethodField(help_text="the address of what came of each")

    def get_url(self, row: Batch) -> str:
        """Return its address."""
        return reverse("api-batch", args=[row.pk])

    def get_items(self, row: Batch) -> str:
        """Return the address of its items."""
        return reverse("api-batch-items", args=[row.pk])

    @extend_schema_field(WhoSerializer)
    def get_by(self, row: Batch) -> dict[str, str]:
        """Return who asked: the agent itself where one did, never whom it acts for."""
        if row.agent:
            return {"type": "agent", "name": row.agent.name}
        return {"type": "user", "name": row.user.get_username()}


class TotalsSerializer(Shape):
    """Numbers of one moment: each call, and each object, is counted in one outcome."""

    as_of = serializers.DateTimeField()
    groups = counted("how many calls have each outcome; they add up to `groups` of the batch")
    effects = counted("how many objects have each outcome; they add up to `effects` of the batch")
    waiting = serializers.IntegerField(help_text="calls whose turn has not come")
    done = serializers.IntegerField(help_text="calls that were attempted, whatever came of it")
    failed = serializers.IntegerField(help_text="calls that can be tried again")
    restorable = serializers.IntegerField(help_text="calls that a restore of this batch would bring back")
    asked_outside = serializers.IntegerField(help_text="objects that stay with targets, whatever is restored here")


class BatchPageSerializer(BatchSerializer):
    """One batch with its numbers as of now."""

    totals = serializers.SerializerMethodField()
    restores = serializers.SerializerMethodField(help_text="the addresses of the batches that restored of it")
    landed_since = serializers.SerializerMethodField(
        help_text=f"calls of its scope that landed after it was frozen and are no part of it, once it does not work "
        f"any more; the newest {MOST_SHOWN}"
    )

    @extend_schema_field(TotalsSerializer)
    def get_totals(self, _row: Batch) -> Any:
        """Return its numbers."""
        return TotalsSerializer(self.context["sheet"].totals).data

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_restores(self, _row: Batch) -> list[str]:
        """Return where they are."""
        return [reverse("api-batch", args=[one.batch.pk]) for one in self.context["sheet"].restores]

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_landed_since(self, _row: Batch) -> list[UUID]:
        """Return which they are."""
        return list(self.context["sheet"].landed_ids(MOST_SHOWN))


class BatchItemSerializer(Shape):
    """One call of a batch, and what came of it when its turn came."""

    position = serializers.IntegerField(source="item.position", help_text="the order of work")
    group = serializers.UUIDField(source="item.group_id")
    url = serializers.SerializerMethodField()
    summary = serializers.CharField(source="view.summary", help_text="what the call did, in this system's words")
    tool = serializers.CharField(source="view.group.tool")
    owner = serializers.CharField(source="view.group.owner.get_username")
    members = serializers.IntegerField(source="item.members", help_text="how many objects it declared at the freeze")
    outcome = one_of(Outcome, help_text="by now, as the totals count it")
    answered = one_of(Outcome, source="item.outcome", help_text="as answered when its turn came")
    detail = serializers.CharField(source="item.detail")
    refusal = serializers.CharField(
        source="item.refusal", help_text="what kept it as it was: the end of a problem's type"
    )
    revocation = serializers.UUIDField(source="item.revocation_id", allow_null=True)
    worked_at = serializers.DateTimeField(source="item.worked_at", allow_null=True)
    words = serializers.CharField(source="view.state_words", help_text="where it stands now, as every page says it")

    def get_url(self, line: Line) -> str:
        """Return the group's address."""
        return reverse("api-group", args=[line.item.group_id])
