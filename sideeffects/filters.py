"""How are lists narrowed? The parameters that pages and the API share."""

from typing import Any

import django_filters as df
from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from sideeffects import queries
from sideeffects.models import Effect, Group
from sideeffects.transitions import EffectState, GroupState, RevokeClass, Standing

LONGEST = 200  # as the columns are


def _text(field: str, label: Any) -> df.CharFilter:
    """Return a filter for what is exactly so."""
    return df.CharFilter(field_name=field, label=label, max_length=LONGEST)


def _one_of(names: Any, label: Any, **options: Any) -> df.ChoiceFilter:
    return df.ChoiceFilter(choices=[(item.value, item.value) for item in names], label=label, **options)


class GroupFilter(df.FilterSet):  # type: ignore[misc]  # (django-filter ships no types)
    """Which groups of a list: their call, what they are called now, who, and words that stand in them."""

    q = df.CharFilter(method="search", label=_("Search"), max_length=LONGEST)
    standing = _one_of(Standing, _("Standing"), method="called")
    state = _one_of(GroupState, _("State of the call"))
    tool = _text("tool", _("Tool"))
    agent = _text("agent__name", _("Agent"))
    owner = _text(f"owner__{get_user_model().USERNAME_FIELD}", _("Owner"))
    conversation = _text("conversation", _("Conversation"))
    run = _text("run", _("Run"))
    conflict = df.ChoiceFilter(
        choices=[("open", _("open")), ("none", _("none"))], method="in_conflict", label=_("Conflict")
    )

    class Meta:
        model = Group
        fields = ()

    def search(self, groups: QuerySet[Group], _name: str, words: str) -> QuerySet[Group]:
        """Narrow to what was called so: a title, a tool, a conversation, a run, or the id of any member."""
        member = Effect.objects.filter(group=OuterRef("pk"))
        named = Exists(member.filter(Q(object_id=words) | Q(title__icontains=words)))
        own = [Q(**{f"{name}__icontains": words}) for name in ("title", "tool", "conversation", "run")]
        return groups.filter(own[0] | own[1] | own[2] | own[3] | Q(named))

    def called(self, groups: QuerySet[Group], _name: str, value: str) -> QuerySet[Group]:
        """Narrow to groups that are called so."""
        return queries.with_standing(groups, Standing(value))

    def in_conflict(self, groups: QuerySet[Group], _name: str, value: str) -> QuerySet[Group]:
        """Narrow to groups with an undecided declaration, or without."""
        return queries.with_conflict(groups, is_open=value == "open")


class EffectFilter(df.FilterSet):  # type: ignore[misc]  # (django-filter ships no types)
    """Which effects of a list: the object, where it stands, how far a revoke gets, and the group."""

    type = df.CharFilter(label=_("Type"), max_length=60)
    id = _text("object_id", _("Id in its system"))
    state = _one_of(EffectState, _("State"))
    group = df.UUIDFilter(label=_("Group"))

    class Meta:
        model = Effect
        fields = ()

    @classmethod
    def get_filters(cls) -> dict[str, Any]:
        """Add the one whose name Python keeps for itself."""
        return {**super().get_filters(), "class": _one_of(RevokeClass, _("Class"), field_name="revoke_class")}
