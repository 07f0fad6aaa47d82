"""Which events can stand on the log, and what does each say? The catalogue; pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Party:
    """Who acts or owns: `type` is user, agent or system; `id` its key as text; `name` what it is called now."""

    type: str
    id: str
    name: str

    def __str__(self) -> str:
        """Return what the log is searched by, e.g. `user:alice`."""
        return f"{self.type}:{self.name}"
