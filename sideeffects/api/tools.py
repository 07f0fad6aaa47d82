"""Which tools and targets are known, and what is proven about them?"""

from typing import Any

from rest_framework import serializers

from sideeffects import proofs, queries
from sideeffects.actors import Actor
from sideeffects.api.lists import Listing
from sideeffects.api.shapes import Shape, one_of
from sideeffects.models import Target, ToolVersion
from sideeffects.proofwords import Came, Reach
from sideeffects.transitions import RevokeClass


class ToolSerializer(Shape):
    """A tool: what it declares, where it runs, and whether taking it back has ever worked."""

    name = serializers.CharField()
    version = serializers.IntegerField(source="row.number")
    revoke_class = one_of(RevokeClass, source="contract.revoke_class")
    reason = serializers.CharField(source="contract.reason", help_text="why it cannot come back; empty where it can")
    target = serializers.CharField(allow_null=True)
    compensations = serializers.DictField(
        source="contract.compensations",
        child=serializers.CharField(),
        help_text="by operation: what is asked of the target",
    )
    runs = serializers.ChoiceField(["here", "elsewhere"], help_text="elsewhere: agents run it and report it")
    human = serializers.BooleanField(
        source="contract.human", help_text="true: a step of a plan with this tool waits for a person"
    )
    blocked = serializers.BooleanField(
        source="contract.blocked", help_text="true: every call of it is refused before anything happens"
    )
    proof = serializers.CharField(source="proof.outcome", help_text="what the last try to take its work back came to")
    proven = serializers.BooleanField(
        source="proof.is_proven", help_text="it worked the last time, as declared now, and not only against a sandbox"
    )
    entry_point = serializers.BooleanField(
        source="proof.entry.there", allow_null=True, help_text="whether anything could be asked; null: none is promised"
    )
    entry_point_words = serializers.CharField(source="proof.entry.words")
    came = one_of(Came, source="proof.came", help_text="the last try; attested ones prove nothing")
    last_tried_at = serializers.DateTimeField(source="proof.outcome.since", allow_null=True)
    reach = one_of(Reach, source="proof.reach", help_text="how far a revoke gets by itself")
    reach_words = serializers.CharField(source="proof.reach_words")
    declared_at = serializers.DateTimeField(source="row.declared_at")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call the class `class`, which Python keeps for itself."""
        return {{"revoke_class": "class"}.get(name, name): field for name, field in super().get_fields().items()}


class TargetSerializer(Shape):
    """A system that holds results of tools."""

    name = serializers.CharField()
    base_url = serializers.CharField(help_text="nothing is asked of it until an admin has registered it")
    audience = serializers.CharField()
    seen_at = serializers.DateTimeField()
    registered = serializers.BooleanField(source="is_askable", help_text="whether an admin has registered it")
    registered_at = serializers.DateTimeField(allow_null=True)
    disabled_at = serializers.DateTimeField(
        allow_null=True, help_text="since an admin had nothing asked of it any more"
    )
    confirms_by = serializers.SerializerMethodField(help_text="callback where it has a secret for it; polls by tool")
    max_in_flight = serializers.IntegerField(help_text="requests at a time")
    unreachable_since = serializers.DateTimeField(allow_null=True, help_text="one fact, however many requests wait")
    unreachable_why = serializers.CharField()
    last_answer_at = serializers.DateTimeField(allow_null=True)

    def get_confirms_by(self, target: Target) -> str:
        """Return how it can tell the end by itself."""
        return "callback" if target.callback_secret else "nothing of its own"


class Tools(Listing):
    """Tools in the version that is in force, the last declared first."""

    serializer_class = ToolSerializer
    queryset = ToolVersion.objects.all()

    def rows(self, by: Actor) -> Any:  # noqa: ARG002  (everyone sees every tool)
        """Return every tool's newest version."""
        return queries.tools()

    def shown(self, rows: Any, by: Actor) -> Any:  # noqa: ARG002  (as above)
        """Return them with their proof."""
        return proofs.tools_of(rows)


class Targets(Listing):
    """Targets, the last seen first."""

    serializer_class = TargetSerializer
    queryset = Target.objects.all()

    def rows(self, by: Actor) -> Any:  # noqa: ARG002  (everyone sees every target's name)
        """Return every target."""
        return queries.targets()
