"""What is searched for? Reads the parameters of a search and names every one that cannot be meant; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, tzinfo

from audit.bodies import LIMITS
from audit.events import CATALOGUE

FORMS = ("ndjson", "csv")
PARTY_TYPES = ("user", "agent", "system")
_CURSOR = re.compile(r"(\d{0,18})\.(\d{0,18})\.(\d{0,18})")
_LONGEST = {
    "type": LIMITS["target_type"],
    "id": LIMITS["target_id"],
    "actor": LIMITS["actor"],
    "owner": LIMITS["owner"],
    "outcome": LIMITS["outcome"],
    "group": LIMITS["group"],
}


class BadFilterError(Exception):
    """A search has parameters that cannot be meant; `errors` names each member."""

    def __init__(self, errors: list[dict[str, str]]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{error['member']}: {error['detail']}" for error in errors))


@dataclass(frozen=True)
class Cursor:
    """Where a page begins: below which place, and how much of the queue had been shown before.

    `below_id` and `head` remember the last unsealed record shown and where the log ended then, so that what is sealed
    between two pages is neither shown twice nor left out.
    """

    below_seq: int | None = None
    below_id: int | None = None
    head: int | None = None

    def __str__(self) -> str:
        parts = (self.below_seq, self.below_id, self.head)
        return ".".join("" if part is None else str(part) for part in parts)


@dataclass(frozen=True)
class Wanted:
    """A search: empty members do not narrow it. `since` is inside, `until` is not."""

    type: str = ""
    id: str = ""
    actor: str = ""
    owner: str = ""
    action: str = ""
    outcome: str = ""
    group: str = ""
    since: datetime | None = None
    until: datetime | None = None


_NAMES = {field.name for field in fields(Wanted)}
_TEXTS = _NAMES - {"since", "until"}


def read(query: Mapping[str, str], *, zone: tzinfo | None = None) -> tuple[Wanted, Cursor]:
    """Return what is searched for and where the page begins; raises BadFilterError naming every bad member.

    A time without an offset is read in `zone`; without a zone it is refused, never guessed.
    """
    given = {name: value.strip() for name, value in query.items() if value.strip()}
    errors: dict[str, str] = {name: "there is no such filter" for name in given if name not in {*_NAMES, "cursor"}}
    errors |= {name: f"longer than {_LONGEST[name]}" for name in _LONGEST if len(given.get(name, "")) > _LONGEST[name]}
    errors |= _of_pair(given)
    if "action" in given and given["action"] not in CATALOGUE:
        errors["action"] = "no event has this name"
    times = {name: _time(given[name], zone) for name in ("since", "until") if name in given}
    errors |= {name: "not a time with its zone, as 2026-11-30T14:02:00Z" for name, at in times.items() if at is None}
    cursor = _cursor(given.get("cursor", ".."))
    if cursor is None:
        errors["cursor"] = "not one of ours; begin with the first page"
    if errors or cursor is None:
        raise BadFilterError([{"member": name, "detail": errors[name]} for name in sorted(errors)])
    texts = {name: given.get(name, "") for name in _TEXTS}
    return Wanted(**texts, since=times.get("since"), until=times.get("until")), cursor


def read_export(query: Mapping[str, str]) -> tuple[str, tuple[str, str] | None]:
    """Return the form of an export and which object it is about, if one; raises BadFilterError."""
    given = {name: value.strip() for name, value in query.items() if value.strip()}
    known = {"form", "type", "id"}
    errors = {name: "there is no such parameter" for name in given if name not in known} | _of_pair(given)
    long = [name for name in ("type", "id") if len(given.get(name, "")) > _LONGEST[name]]
    errors |= {name: f"longer than {_LONGEST[name]}" for name in long}
    if given.get("form", "ndjson") not in FORMS:
        errors["form"] = f"one of {', '.join(FORMS)}"
    if errors:
        raise BadFilterError([{"member": name, "detail": errors[name]} for name in sorted(errors)])
    return given.get("form", "ndjson"), (given["type"], given["id"]) if "type" in given else None


def parties(name: str) -> list[str]:
    """Return how the log names this party: as typed with its type, or of any type."""
    return (
        [name] if name.partition(":")[0] in PARTY_TYPES and ":" in name else [f"{kind}:{name}" for kind in PARTY_TYPES]
    )


def _of_pair(given: Mapping[str, str]) -> dict[str, str]:
    """Say what is missing: an object is found by both its type and its id."""
    if "id" in given and "type" not in given:
        return {"type": "needed beside id"}
    if "type" in given and "id" not in given:
        return {"id": "needed beside type"}
    return {}


def _time(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the moment in UTC, as databases compare it; none where it cannot be meant or no calendar holds it."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            at = at.replace(tzinfo=zone if "T" in text else None)
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _cursor(text: str) -> Cursor | None:
    match = _CURSOR.fullmatch(text)
    return Cursor(*(int(part) if part else None for part in match.groups())) if match else None
