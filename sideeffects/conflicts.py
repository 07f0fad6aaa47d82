"""How does a repeat's declaration differ from what is held? The lines of a difference, as pages show them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from sideeffects.models import Declaration, Group

MOST = 50  # lines of one difference on a page


@dataclass(frozen=True)
class Line:
    """One object that is not declared alike; `was` and `now` are what each declaration says of it, if anything."""

    where: str
    type: str
    id: str
    was: str
    now: str


@dataclass(frozen=True)
class Conflict:
    """One differing declaration beside the one that is held, which declares `held` objects."""

    declaration: Declaration
    held: int = 0

    @cached_property
    def _all(self) -> list[Line]:
        return list(_lines(self.declaration.difference))

    @property
    def lines(self) -> list[Line]:
        """Return the first lines of the difference."""
        return self._all[:MOST]

    @property
    def more(self) -> int:
        """Return how many lines are not shown."""
        return max(len(self._all) - MOST, 0)

    @property
    def added(self) -> int:
        """Return how many objects only the repeat declares."""
        return len(self.declaration.difference.get("only_second", []))

    @property
    def changed(self) -> int:
        """Return how many objects both declare, differently."""
        return len(self.declaration.difference.get("changed", []))

    @property
    def joins(self) -> int:
        """Return how many objects it is about to adopt the difference."""
        return self.added + self.changed

    @property
    def shared(self) -> int:
        """Return how many objects both declare, which a split would leave in two actions."""
        return self.declared - len(self.declaration.difference.get("only_second", []))

    @property
    def declared(self) -> int:
        """Return how many objects the repeat declares."""
        different = self.declaration.difference
        return self.held - len(different.get("only_first", [])) + len(different.get("only_second", []))


def _lines(difference: Mapping[str, Any]) -> Iterator[Line]:
    for one in difference.get("only_first", []):
        yield _line(_("Only in the first: held here"), one, was=_said(one), now="")
    for one in difference.get("only_second", []):
        yield _line(_("Only in the repeat: not held here"), one, was="", now=_said(one))
    for pair in difference.get("changed", []):
        was, now = _changes(pair["first"], pair["second"])
        yield _line(_("In both, changed"), pair["first"], was=was, now=now)
    if principal := difference.get("principal"):
        yield _line(_("The repeat names another principal"), principal, was="", now=_("principal"))


def _line(where: str, one: Mapping[str, str], *, was: str, now: str) -> Line:
    return Line(where, one.get("type", ""), one.get("id", ""), was, now)


def _said(one: Mapping[str, str]) -> str:
    """Return what a declaration says of an object beside its type and id."""
    words = [one.get("operation", "")]
    words += [f"{name} {one[name]}" for name in ("version", "undo_expires_at") if one.get(name)]
    words += [f"“{one['title']}”"] if one.get("title") else []
    return ", ".join(words)


def _changes(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[str, str]:
    """Return what differs, on both sides."""
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    sides = [", ".join(f"{name} {side.get(name) or _('none')}" for name in names) for side in (first, second)]
    return sides[0], sides[1]


def undecided(groups: QuerySet[Group]) -> QuerySet[Declaration]:
    """Return the declarations of these groups that differ and that nobody has decided about."""
    rows = Declaration.objects.filter(group__in=groups, held=False, resolved_at=None)
    return rows.defer("effects").select_related("group__owner", "group__agent")
