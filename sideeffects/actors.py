"""Who asks? A person, an agent acting for its owner, or this system itself, with roles and scopes."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

from audit.events import Party

if TYPE_CHECKING:
    from sideeffects.models import AgentToken

ADMIN, AUDITOR = "admin", "auditor"
SCOPES = ("record", "propose", "execute", "revoke-own", "read")


def party_of(user: Any) -> Party:
    """Return how the log names a person."""
    return Party("user", str(user.pk), user.get_username())


class NobodyError(Exception):
    """Whoever asks is not signed in, so the log could not name them."""


@dataclass(frozen=True)
class Actor:
    """Who asks: `user` is the person, or the owner an agent acts for; `token` is there only for agents.

    A system actor has neither; its `system` names it (`beat`, `import`, `command`).
    """

    user: Any = None
    token: "AgentToken | None" = None
    roles: frozenset[str] = field(default_factory=frozenset)
    system: str = ""

    @property
    def party(self) -> Party:
        """Return how the log names whoever acts: never the person an agent acts for (A9)."""
        if self.is_nobody:
            raise NobodyError
        if self.token is not None:
            return Party("agent", str(self.token.agent_id), self.token.agent.name)
        return Party("system", self.system, self.system) if self.user is None else party_of(self.user)

    @property
    def is_nobody(self) -> bool:
        """Say whether nobody is signed in: neither a person, nor an agent, nor the system."""
        return self.user is None and not self.system

    @property
    def is_person(self) -> bool:
        """Say whether a human asks, not an agent and not the system."""
        return self.user is not None and self.token is None

    @property
    def is_admin(self) -> bool:
        """Say whether a person with the role admin asks; no agent ever has it."""
        return self.is_person and ADMIN in self.roles

    @property
    def is_auditor(self) -> bool:
        """Say whether a person with the role auditor asks."""
        return self.is_person and AUDITOR in self.roles

    def owns(self, owner_id: Any) -> bool:
        """Say whether what belongs to `owner_id` belongs to whoever asks, or to whom the agent acts for."""
        return self.user is not None and self.user.pk == owner_id


NOBODY = Actor()


class ActorRequest(HttpRequest):
    """A request that passed the access table, which has set who asks (and htmx's middleware, whether htmx does)."""

    actor: Actor
    htmx: Any


def person(user: Any) -> Actor:
    """Return the actor for a signed-in person, roles read once."""
    return Actor(user=user, roles=frozenset(user.takeback_roles.values_list("role", flat=True)))


def agent(token: "AgentToken") -> Actor:
    """Return the actor for an agent's token: it acts for the token's owner, without the owner's roles."""
    return Actor(user=token.owner, token=token)


def system(name: str) -> Actor:
    """Return the actor for work that nobody asked for at this moment."""
    return Actor(system=name)
