"""What is there to see? Every read of this app's rows that more than one face needs, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Now

from audit.loaded import refer
from sideeffects import requested
from sideeffects.models import (
    Declaration,
    Effect,
    Fence,
    Group,
    MemberOutcome,
    Request,
    Revocation,
    Target,
    ToolVersion,
)
from sideeffects.setwise import among
from sideeffects.transitions import ALL_OF, NOT_LANDED, EffectState, GroupState, Operation, Standing

# What a revoke put back or undeleted is restorable too, and lies in no trash: nothing of it is ever purged.
IN_TRASH = Q(state=EffectState.REVOKED, operation=Operation.CREATE)


def open_conflicts(groups: Iterable[Any]) -> set[UUID]:
    """Return which of the groups have a declaration that nobody has decided about."""
    rows = Declaration.objects.filter(among("group_id", list(groups)), held=False, resolved_at=None)
    return set(rows.values_list("group_id", flat=True))


def shown(groups: QuerySet[Group]) -> QuerySet[Group]:
    """Return the groups with what every list and page says of them besides their members."""
    return groups.select_related("owner", "agent", "tool_version")


def with_conflict(groups: QuerySet[Group], *, is_open: bool) -> QuerySet[Group]:
    """Return those of the groups that have a declaration nobody has decided about, or those that have none."""
    undecided = Exists(Declaration.objects.filter(group=OuterRef("pk"), held=False, resolved_at=None))
    return groups.filter(undecided if is_open else ~undecided)


def with_standing(groups: QuerySet[Group], standing: Standing) -> QuerySet[Group]:
    """Return those of the groups that are called so: `transitions.standing_of`, said in SQL."""
    for state, name in NOT_LANDED.items():
        if name is standing:
            return groups.filter(state=state)
    members = Effect.objects.filter(group=OuterRef("pk"))
    landed = groups.filter(state=GroupState.LANDED)
    asked = Exists(members.exclude(state=EffectState.ACTIVE))
    if standing is Standing.STANDING:
        return landed.filter(~asked)
    back = Exists(members.filter(state=EffectState.ACTIVE, restored_at__isnull=False))
    if standing is Standing.PARTLY_RESTORED:
        return landed.filter(asked, back)
    return _undone_as(landed.filter(asked, ~back), members, standing)


def _undone_as(asked: QuerySet[Group], members: QuerySet[Effect], standing: Standing) -> QuerySet[Group]:
    """Narrow groups that were asked back by how far that got."""
    outside = {name: Exists(members.exclude(state__in=states)) for states, name in ALL_OF}
    if standing is Standing.INCOMPLETE:
        _, widest = ALL_OF[-1]
        conflict = with_conflict(Group.objects.all(), is_open=True)
        return asked.filter(Q(outside[widest]) | Q(pk__in=conflict.values("pk")))
    names = [name for _, name in ALL_OF]
    weaker = names[: names.index(standing)]
    undone = with_conflict(asked, is_open=False).filter(~outside[standing])
    return undone.filter(outside[weaker[-1]]) if weaker else undone


def members_of(groups: Sequence[Any]) -> dict[UUID, list[Effect]]:
    """Return the members of each group, principal first."""
    members: dict[UUID, list[Effect]] = {getattr(group, "pk", group): [] for group in groups}
    rows = list(Effect.objects.filter(among("group_id", list(members))).order_by("group_id", "position"))
    refer(rows, "target")
    for effect in rows:
        members[effect.group_id].append(effect)
    return members


def effects_of(groups: QuerySet[Group]) -> QuerySet[Effect]:
    """Return the members of these groups."""
    return Effect.objects.filter(group__in=groups).select_related("target")


def first_members(group: Group, most: int) -> list[Effect]:
    """Return the first members of one group, principal first."""
    return list(Effect.objects.filter(group=group).select_related("target").order_by("position")[:most])


def revocations_of(group: Group, most: int) -> list[Revocation]:
    """Return the newest askings about one group, newest first."""
    return list(Revocation.objects.filter(group=group).select_related("user", "agent").order_by("-pk")[:most])


@dataclass(frozen=True)
class Tally:
    """How many members of a group are alike in all that its name and its sentence depend on."""

    type: str
    operation: str
    revoke_class: str
    state: str
    restored: bool
    count: int
    first: int
    reason: str
    target: str
    askable: bool = False
    window_over: bool = False
    window_until: datetime | None = None
    undeclared: int = 0


@dataclass
class GroupRows:
    """One group with what a card, a page or an answer says of it; members only as tallies."""

    group: Group
    tallies: list[Tally] = field(default_factory=list)
    principal: Effect | None = None
    conflicts: list[Declaration] = field(default_factory=list)
    split_from: Declaration | None = None
    fence: Fence | None = None
    lease_over: bool = False
    revocation: Revocation | None = None
    trash_until: Any = None
    changed_at: Any = None
    asked: requested.Asked = requested.NOTHING


def rows_of(groups: Sequence[Group]) -> list[GroupRows]:
    """Return what is to be said of each group, in a fixed number of queries however many there are."""
    rows = {group.pk: GroupRows(group) for group in groups}
    for group, tally in _tallies(list(rows)):
        rows[group].tallies.append(tally)
    for effect in Effect.objects.filter(group__in=list(rows), position=0).select_related("target"):
        rows[effect.group_id].principal = effect
    _add_declarations(rows)
    for fence in Fence.objects.filter(group__in=list(rows)).order_by("pk"):
        rows[fence.group_id].fence = fence
    leased = [row.group.pk for row in rows.values() if row.group.lease_until and row.group.state == GroupState.OPEN]
    for key in (
        Group.objects.filter(pk__in=leased, lease_until__lte=Now()).values_list("pk", flat=True) if leased else ()
    ):
        rows[key].lease_over = True
    for revocation in Revocation.objects.filter(group__in=list(rows)).select_related("user", "agent").order_by("pk"):
        rows[revocation.group_id].revocation = revocation
    dates = Effect.objects.filter(group__in=list(rows)).values("group").order_by()
    lying = Min("purge_at", filter=IN_TRASH)
    for one in dates.annotate(until=lying, changed=Max("state_at")):
        rows[one["group"]].trash_until, rows[one["group"]].changed_at = one["until"], one["changed"]
    for group, asked in requested.asked_of(rows).items():
        rows[group].asked = asked
    return list(rows.values())


def _add_declarations(rows: dict[UUID, GroupRows]) -> None:
    """Add to each group what differs from it, and the conflict that it was split from."""
    differing = Declaration.objects.filter(Q(group__in=list(rows)) | Q(split_into__in=list(rows)), held=False)
    for declaration in differing.defer("effects").order_by("pk"):
        if declaration.group_id in rows:
            rows[declaration.group_id].conflicts.append(declaration)
        if declaration.split_into_id in rows:
            rows[declaration.split_into_id].split_from = declaration


def _tallies(groups: list[UUID]) -> Iterable[tuple[UUID, Tally]]:
    back = ExpressionWrapper(Q(restored_at__isnull=False), output_field=BooleanField())
    askable = ExpressionWrapper(Q(target__registered_at__isnull=False), output_field=BooleanField())
    over = ExpressionWrapper(Q(undo_expires_at__isnull=False, undo_expires_at__lt=Now()), output_field=BooleanField())
    alike = Effect.objects.filter(group__in=groups).annotate(back=back, asked=askable, over=over)
    kinds = alike.values("group", "type", "operation", "revoke_class", "state", "back", "reason", "asked", "over")
    for one in (
        kinds.annotate(name=F("target__name"), count=Count("pk"), first=Min("position"))
        .annotate(until=Min("undo_expires_at"), undeclared=Count("pk", filter=Q(undo_expires_at=None)))
        .order_by("first")
    ):
        yield (
            one["group"],
            Tally(
                type=one["type"],
                operation=one["operation"],
                revoke_class=one["revoke_class"],
                state=one["state"],
                restored=bool(one["back"]),
                count=one["count"],
                first=one["first"],
                reason=one["reason"],
                target=one["name"] or "",
                askable=bool(one["asked"]),
                window_over=bool(one["over"]),
                window_until=one["until"],
                undeclared=one["undeclared"],
            ),
        )


def requests_of(groups: QuerySet[Group]) -> QuerySet[Request]:
    """Return every request about members of these groups, newest first, with what a face says of it."""
    rows = Request.objects.filter(effect__group__in=groups)
    return rows.select_related("effect__group", "target", "tool_version").order_by("-pk")


def trash(groups: QuerySet[Group]) -> QuerySet[Effect]:
    """Return what lies in the trash of these groups, the newest revocation first."""
    return (
        Effect.objects.filter(group__in=groups, state=EffectState.REVOKED)
        .select_related("group", "revocation")
        .order_by("-revocation_id", "group_id", "position")
    )


def revocations_in_trash(groups: QuerySet[Group]) -> QuerySet[Revocation]:
    """Return the revocations of these groups that something still lies in the trash of."""
    removed = Effect.objects.filter(revocation=OuterRef("pk"), state=EffectState.REVOKED)
    return Revocation.objects.filter(Exists(removed), group__in=groups).select_related("user", "agent")


def removed_by(revocations: Sequence[Revocation]) -> dict[UUID, dict[str, int]]:
    """Return how many objects of each type each revocation keeps in the trash, in one query."""
    removed: dict[UUID, dict[str, int]] = {row.pk: {} for row in revocations}
    rows = Effect.objects.filter(revocation__in=list(removed), state=EffectState.REVOKED).order_by()
    kinds = rows.values_list("revocation", "type").annotate(number=Count("pk"), first=Min("position"))
    for key, type_, number, _ in kinds.order_by("first", "type"):
        removed[key][type_] = number
    return removed


def tools() -> QuerySet[ToolVersion]:
    """Return the version in force of each tool."""
    newest = ToolVersion.objects.filter(tool=OuterRef("tool")).order_by("-number").values("number")[:1]
    return ToolVersion.objects.filter(number=Subquery(newest)).select_related("tool", "target")


def targets() -> QuerySet[Target]:
    """Return every target that was ever named."""
    return Target.objects.all()


def in_trash(groups: QuerySet[Group]) -> QuerySet[Group]:
    """Return the groups that have something in the trash."""
    return groups.filter(Q(pk__in=Effect.objects.filter(state=EffectState.REVOKED).values("group")))


def by_conversation(rows: Sequence[GroupRows]) -> dict[str, list[GroupRows]]:
    """Fold rows that stand in order by the conversation they belong to, keeping the order of first appearance."""
    folded: dict[str, list[GroupRows]] = defaultdict(list)
    for row in rows:
        folded[row.group.conversation].append(row)
    return dict(folded)


def lying_by(revocation: Any, *, group: Any) -> QuerySet[Effect]:
    """Return what can be given back of a revocation of a group.

    Not by its state: right after many were revoked the database still takes them for few, and would look through all
    that lie in the trash, for each.
    """
    return Effect.objects.filter(group=group, revocation=revocation).exclude(state=EffectState.PURGED)


def restorable(group: Group) -> int:
    """Return how many members a restore of this group would bring back: its newest revocation's."""
    return _returning(group).count()


def restorable_of(group: Group) -> list[Effect]:
    """Return the members that a restore of this group would bring back, in their order."""
    return list(_returning(group).order_by("position"))


def _returning(group: Group) -> QuerySet[Effect]:
    rows = Effect.objects.filter(group=group, state=EffectState.REVOKED)
    newest = rows.order_by("-revocation_id").values("revocation_id")[:1]
    return rows.filter(revocation_id__in=newest)


def outcomes_of(revocation: Revocation) -> dict[str, int]:
    """Return how many members had each outcome in one revocation."""
    rows = MemberOutcome.objects.filter(revocation=revocation).values("outcome").order_by("outcome")
    return dict(rows.annotate(count=Count("pk")).values_list("outcome", "count"))


def waiting(groups: QuerySet[Group]) -> QuerySet[Group]:
    """Narrow to groups that wait on something: a landing, a target's word, a person's decision."""
    conflicts = Declaration.objects.filter(held=False, resolved_at=None)
    asked = Effect.objects.filter(
        state__in=[EffectState.REQUESTING, EffectState.COMPENSATING, EffectState.UNKNOWN, EffectState.REFUSED]
    )
    not_landed = Q(state__in=[GroupState.OPEN, GroupState.LOST])
    return groups.filter(not_landed | Q(pk__in=conflicts.values("group")) | Q(pk__in=asked.values("group")))


def kept_until(revocations: Sequence[Revocation]) -> dict[UUID, datetime]:
    """Return until when the first of what each revocation keeps in the trash lies there, in one query.

    A revocation that only put back or undeleted keeps nothing there, and is left out.
    """
    rows = Effect.objects.filter(IN_TRASH, revocation__in=list(revocations)).order_by()
    return {key: until for key, until in rows.values_list("revocation").annotate(Min("purge_at")) if key and until}


def lying_in_trash(revocations: Iterable[Revocation], *, most: int) -> dict[UUID, list[Effect]]:
    """Return the first members of each revocation that lie in the trash, in one query."""
    found: dict[UUID, list[Effect]] = defaultdict(list)
    rows = Effect.objects.filter(revocation__in=list(revocations), state=EffectState.REVOKED, position__lt=most)
    for effect in rows.order_by("group", "position"):
        if effect.revocation_id is not None:
            found[effect.revocation_id].append(effect)
    return found


def fences_of(group: Group) -> list[Fence]:
    """Return the fences of one group, newest first."""
    return list(Fence.objects.filter(group=group).select_related("user", "agent").order_by("-pk"))


def fences(groups: QuerySet[Group]) -> QuerySet[Fence]:
    """Return the fences of these groups that wait, or did not fire while what they were for still stands."""
    void = Q(result=Fence.Result.REFUSED) & Exists(
        Effect.objects.filter(group=OuterRef("group"), state=EffectState.ACTIVE)
    )
    waiting = Q(lifted_at=None, ended_at=None)
    rows = Fence.objects.filter(waiting | void, group__in=groups)
    return rows.select_related("group__owner", "group__agent", "group__tool_version").order_by("-pk")
