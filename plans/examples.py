"""Which plan does everyone start from? The one printed with the article "The Undo TTL Problem", abridged as there."""

import json
from datetime import datetime, timedelta
from typing import Any


def article(now: datetime) -> bytes:
    """Return the plan that is refused: a person's answer without a bound inside a window of a day."""
    steps: list[dict[str, Any]] = [
        _step("s1", "budget.reserve", "budget.release", "$s1.hold", undoTtlSeconds=86_400, maxDurationSeconds=60),
        _step("s2", "compliance.review", "compliance.withdraw", "$s2.ticket", undoTtlSeconds=604_800),
        _step("s3", "tenant.provision", "tenant.remove", "$s3.id", undoTtlSeconds=172_800, maxDurationSeconds=300),
        {"id": "s4", "tool": "fee.capture", "class": "irreversible"},
    ]
    plan = {
        "$comment": "Vendor onboarding",
        "sagaId": "sg_fixture",
        "pivotIndex": 3,
        "mandate": {"maxSpendEur": 250, "expiresAt": (now + timedelta(days=30)).isoformat()},
        "steps": steps,
    }
    return json.dumps(plan, indent=2).encode()


def _step(name: str, tool: str, undo: str, reference: str, **numbers: int) -> dict[str, Any]:
    compensation = {"tool": undo, "args": {"ref": reference}}
    return {"id": name, "tool": tool, "class": "compensable", "compensation": compensation, **numbers}
