"""Which plans do the tests of plans speak of?"""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plans.core.verdict import Profile, Verdict, validate

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FIXTURES = Path(__file__).parent / "fixtures"


def fixture(name: str) -> dict[str, Any]:
    """Return a plan of the fixtures, free to be changed."""
    plan: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return plan


def judge(plan: Any, profile: Profile = "default", **more: Any) -> Verdict:
    """Judge a plan given as data, or as the bytes themselves."""
    data = plan if isinstance(plan, bytes) else json.dumps(plan).encode()
    return validate(data, now=more.pop("now", NOW), profile=profile, **more)


def found(verdict: Verdict) -> list[tuple[str, str]]:
    """Return rule and path of each violation."""
    return [(remark.rule, dotted(remark.path)) for remark in verdict.violations]


def warned(verdict: Verdict) -> list[tuple[str, str]]:
    """Return rule and path of each warning."""
    return [(remark.rule, dotted(remark.path)) for remark in verdict.warnings]


def dotted(path: tuple[str | int, ...]) -> str:
    """Return a path as text."""
    return ".".join(map(str, path))


def with_step(plan: dict[str, Any], index: int, **members: Any) -> dict[str, Any]:
    """Return a copy in which a step has other members; None takes one away."""
    changed = copy.deepcopy(plan)
    step = changed["steps"][index]
    for name, value in members.items():
        step.pop(name, None)
        if value is not None:
            step[name] = value
    return changed


def chain(durations: list[int | None], windows: list[int | None]) -> dict[str, Any]:
    """Return a plan of compensable steps with these durations and windows before a pivot."""
    steps: list[dict[str, Any]] = []
    for index, (duration, window) in enumerate(zip(durations, windows, strict=True)):
        step: dict[str, Any] = {
            "id": f"s{index}",
            "tool": "t.do",
            "class": "compensable",
            "compensation": {"tool": "t.undo"},
        }
        step |= {"undoTtlSeconds": window} if window else {}
        step |= {"maxDurationSeconds": duration} if duration is not None else {}
        steps.append(step)
    steps.append({"id": "pivot", "tool": "t.commit", "class": "irreversible"})
    mandate = {"maxSpendEur": 10, "expiresAt": "2027-01-01T00:00:00Z"}
    return {"sagaId": "sg", "pivotIndex": len(durations), "mandate": mandate, "steps": steps}
