"""Which actions does a batch ask for, in data and in words?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from audit.inert import visible
from sideeffects import policies
from sideeffects.actors import Actor
from sideeffects.models import Group
from sideeffects.policies import NotFoundError

_EXACTLY = ("conversation", "run", "execution", "tool")
_TEXTS = (*_EXACTLY, "agent", "owner")


class EmptyScopeError(Exception):
    """Nothing narrows the selection down, so it would be everything."""

    def __init__(self) -> None:
        super().__init__("Say which actions: by conversation, run, execution, tool, agent, time, or one by one.")


@dataclass(frozen=True)
class Scope:
    """What was asked for, all of it together; `agent` and `owner` by name, `since` ≤ begun < `until`."""

    conversation: str = ""
    run: str = ""
    execution: str = ""
    tool: str = ""
    agent: str = ""
    owner: str = ""
    since: datetime | None = None
    until: datetime | None = None
    groups: tuple[UUID, ...] = ()

    def __post_init__(self) -> None:
        if not self.as_json():
            raise EmptyScopeError

    def as_json(self) -> dict[str, Any]:
        """Return the members that are set, as a row keeps them."""
        texts = {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        times = {name: at.isoformat() for name in ("since", "until") if (at := getattr(self, name))}
        return texts | times | ({"groups": [str(key) for key in self.groups]} if self.groups else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the scope that a row keeps."""
        times: dict[str, Any] = {
            name: datetime.fromisoformat(data[name]) for name in ("since", "until") if name in data
        }
        texts = {name: data[name] for name in _TEXTS if name in data}
        return cls(**texts, **times, groups=tuple(UUID(key) for key in data.get("groups", ())))

    def words(self) -> str:
        """Return it as one phrase, what others wrote made inert."""
        return ", ".join(self._phrases())

    def _phrases(self) -> Iterator[str]:
        said = {
            "conversation": _("conversation “{}”"),
            "run": _("run “{}”"),
            "execution": _("execution {}"),
            "tool": _("tool {}"),
            "agent": _("by {}"),
            "owner": _("for {}"),
        }
        yield from (phrase.format(visible(getattr(self, name))) for name, phrase in said.items() if getattr(self, name))
        if self.since:
            yield _("begun since {}").format(self.since.isoformat(timespec="minutes"))
        if self.until:
            yield _("begun before {}").format(self.until.isoformat(timespec="minutes"))
        if self.groups:
            yield _("{} chosen one by one").format(len(set(self.groups)))

    def groups_for(self, by: Actor) -> QuerySet[Group]:
        """Return these actions as far as this asker may take them back; raises NotFoundError for an unknown one."""
        rows = _own(by).filter(self._wanted())
        if self.groups:
            self._check_known(by)
        return rows

    def _wanted(self) -> Q:
        wanted = Q(**{name: getattr(self, name) for name in _EXACTLY if getattr(self, name)})
        if self.agent:
            wanted &= Q(agent__name=self.agent)
        if self.owner:
            wanted &= Q(**{f"owner__{get_user_model().USERNAME_FIELD}": self.owner})
        if self.since:
            wanted &= Q(opened_at__gte=self.since)
        if self.until:
            wanted &= Q(opened_at__lt=self.until)
        return wanted & Q(pk__in=self.groups) if self.groups else wanted

    def _check_known(self, by: Actor) -> None:
        known = set(_own(by).filter(pk__in=self.groups).values_list("pk", flat=True))
        if unknown := next((key for key in self.groups if key not in known), None):
            raise NotFoundError("group", str(unknown))


def _own(by: Actor) -> QuerySet[Group]:
    """Return what this asker may take back: an admin anyone's, everybody else their own."""
    rows = policies.visible_groups(by)
    return rows if by.is_admin or by.user is None else rows.filter(owner=by.user)
