"""What do the tables themselves say? Read apart from the product's own presenters, to hold its words against them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.models import Record, Subject
from sideeffects.models import Declaration, Effect, Fence, Group, Request
from sideeffects.presenters import GroupView
from sideeffects.workspace.models import Note, Project, Task

Key = tuple[str, str]
BUSINESS: Mapping[str, Any] = {"project": Project, "task": Task, "note": Note}
# Repeats of a declaration are counted on its rows and change nothing else; every other column is a claim.
CLAIMS: Mapping[Any, tuple[str, ...]] = {
    Group: ("state", "landed_at", "ended_at", "reason", "again_after_revoke"),
    Effect: ("state", "group_id", "object_id", "operation", "version", "revocation_id", "restored_at", "purge_at"),
    Declaration: ("resolved_at",),
    Request: ("state", "current"),
    Fence: ("lifted_at", "ended_at", "result"),
}
UNDONE = {"revoked", "compensated"}


def world() -> dict[Key, dict[str, Any]]:
    """Return every business row, column by column, by type and id."""
    return {(type_, str(row["id"])): row for type_, model in BUSINESS.items() for row in model.objects.values()}


def gone(there: Mapping[Key, Mapping[str, Any]], key: Key) -> bool:
    """Say whether nobody sees the row any more."""
    return key not in there or there[key]["deleted_at"] is not None


def as_seen(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as people see it: whether it is deleted counts, not when it was."""
    return {**row, "deleted_at": row["deleted_at"] is not None, "deleted_by": ""}


def claims() -> dict[tuple[str, Any], tuple[Any, ...]]:
    """Return what this app's rows claim, by table and key."""
    return {
        (model.__name__, row[0]): row[1:]
        for model, columns in CLAIMS.items()
        for row in model.objects.values_list("pk", *columns)
    }


def changed(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> set[Any]:
    """Return the keys of what is new, gone or different."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@dataclass
class OnLog:
    """What was written to the log since a record: which groups and which objects it speaks of."""

    groups: set[str]
    objects: set[Key]
    actions: list[str]


def last_record() -> int:
    """Return the newest record's key."""
    return Record.objects.order_by("-id").values_list("id", flat=True).first() or 0


def logged_since(record: int) -> OnLog:
    """Return what the log says beyond this record."""
    rows = list(Record.objects.filter(id__gt=record).values_list("id", "group", "action", "target_type", "target_id"))
    found = Subject.objects.filter(record__in=[row[0] for row in rows]).values_list("object_type", "object_id")
    targets = {(row[3], row[4]) for row in rows}
    return OnLog({row[1] for row in rows}, targets | set(found), [row[2] for row in rows])


def group_of(claim: tuple[str, Any]) -> str:
    """Return the group that a row of this app belongs to."""
    table, key = claim
    if table == "Group":
        return str(key)
    if table == "Request":
        return str(Request.objects.values_list("effect__group", flat=True).get(pk=key))
    model = {"Effect": Effect, "Declaration": Declaration, "Fence": Fence}[table]
    return str(model.objects.values_list("group", flat=True).get(pk=key))  # type: ignore[attr-defined]  # (both have one)


@dataclass
class Truth:
    """One group as the tables have it."""

    group: Group
    members: list[Effect]
    open_conflicts: list[Declaration]

    @property
    def complete(self) -> bool:
        """Say by the design's own words whether everything declared is undone."""
        whitelisted = all(one.state in UNDONE and one.revoke_class != "none" for one in self.members)
        return self.group.state == "landed" and bool(self.members) and whitelisted and not self.open_conflicts

    def can_revoke(self, *, owner: bool, admin: bool) -> bool:
        """Say whether something could be taken back, or asked for, by such a person."""
        standing = [one for one in self.members if one.state == "active"]
        reachable = [
            one
            for one in standing
            if one.revoke_class == "local_compensate"
            or (one.revoke_class == "governed_external" and one.target and one.target.registered_at)
        ]
        return self.group.state == "landed" and (owner or admin) and bool(reachable)

    def can_restore(self, *, owner: bool, admin: bool) -> bool:
        """Say whether something lies in the trash for such a person."""
        return (owner or admin) and any(one.state == "revoked" for one in self.members)


def truths(only: set[str] | None = None) -> dict[Any, Truth]:
    """Return every group, or only some, as the tables have them."""
    groups = Group.objects.select_related("owner").order_by("pk")
    rows = groups if only is None else groups.filter(pk__in=[key for key in only if key])
    found = {row.pk: Truth(row, [], []) for row in rows}
    for effect in Effect.objects.filter(group__in=found).select_related("target").order_by("group", "position"):
        found[effect.group_id].members.append(effect)
    for row in Declaration.objects.filter(group__in=found, held=False, resolved_at=None):
        found[row.group_id].open_conflicts.append(row)
    return found


NUMBERS = {
    r"(\d+) still standing": lambda members: sum(
        one.state == "active" and one.revoke_class != "none" for one in members
    ),
    r"(\d+) not revocable": lambda members: sum(
        one.state == "active" and one.revoke_class == "none" for one in members
    ),
    r"(\d+) already gone": lambda members: sum(one.state == "gone" for one in members),
    r"(\d+) refused by": lambda members: sum(one.state == "refused" for one in members),
    r"(\d+) unknown": lambda members: sum(one.state == "unknown" for one in members),
    r"(\d+) attested": lambda members: sum(one.state == "attested" for one in members),
    r"(\d+) waiting for": lambda members: sum(one.state == "compensating" for one in members),
    r"(\d+) of \d+ are back": lambda members: sum(one.state == "active" and bool(one.restored_at) for one in members),
    r"\d+ of (\d+) are back": len,
}


def check_view(view: GroupView, truth: Truth) -> None:
    """Hold what a page says of a group, and the buttons on it, against the tables."""
    owner, admin = view.by.owns(truth.group.owner_id), view.by.is_admin
    assert view.complete is truth.complete
    assert {state.value: count for state, count in view.counts.items()} == Counter(one.state for one in truth.members)
    assert view.declared == len(truth.members)
    assert {row.pk for row in view.open_conflicts} == {row.pk for row in truth.open_conflicts}
    assert view.can_revoke is truth.can_revoke(owner=owner, admin=admin), view.state_words
    assert view.can_restore is truth.can_restore(owner=owner, admin=admin), view.state_words
    check_words(str(view.state_words), truth)


def check_words(said: str, truth: Truth) -> None:
    """Hold one sentence to what it claims."""
    for pattern, count in NUMBERS.items():
        for number in re.findall(pattern, said):
            assert int(number) == count(truth.members), said
    if truth.group.state == "landed":
        check_standing(said, truth)
    else:
        assert said.startswith(
            {"open": "In flight", "lost": "The agent lost", "failed": "The agent says"}[truth.group.state]
        )


def check_standing(said: str, truth: Truth) -> None:
    """Hold the sentence of a landed call to the states of its members."""
    states = {one.state for one in truth.members}
    if said.startswith(("Revoked", "The target says it is undone", "Compensation requested", "Not sent", "Requested")):
        assert not truth.open_conflicts, said
        assert not states & {"active", "gone", "refused", "unknown"}, said
    if said.startswith("Revoked"):
        assert states <= {"revoked", "purged"}, said
    if said.startswith("Standing"):
        assert states <= {"active"}, said
    if said.startswith("Incomplete"):
        assert len(said) > len("Incomplete: "), said
    if truth.complete:
        assert said.startswith(("Revoked", "The target says it is undone")), said


def objects_of(members: Iterable[Effect]) -> set[Key]:
    """Return type and id of members."""
    return {(one.type, one.object_id) for one in members}
