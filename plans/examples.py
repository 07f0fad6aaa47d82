"""Which plans does everyone start from? The article's, abridged as printed there, and one that is carried out."""

import json
from datetime import datetime, timedelta
from typing import Any


def article(now: datetime) -> bytes:
    """Return the plan of "The Undo TTL Problem", which is refused: a wait without a bound inside a window of a day."""
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


def onboarding(now: datetime) -> bytes:
    """Return a plan that is accepted: a person has nine minutes, and every window outlasts the way to the pivot."""
    approve: dict[str, Any] = {"undoTtlSeconds": 604_800, "maxDurationSeconds": 540}
    steps: list[dict[str, Any]] = [
        _step(
            "vendor", "crm.create_contact", "crm.delete", "$vendor.id", undoTtlSeconds=2_700, maxDurationSeconds=1_500
        ),
        _step("note", "note.create", "note.delete", "$note.id", undoTtlSeconds=86_400, maxDurationSeconds=60),
        _step("approval", "human.approve", "human.withdraw", "$approval.ticket", **approve),
        {"id": "fee", "tool": "fee.capture", "class": "irreversible", "maxDurationSeconds": 60, "maxSpendEur": 180},
        {"id": "welcome", "tool": "email.send", "class": "retriable", "maxDurationSeconds": 60},
    ]
    plan = {
        "$comment": "Onboarding Northwind Supplies",
        "sagaId": f"sg_onboarding_{now:%m%d_%H%M}",
        "planVersion": 1,
        "authoredBy": {"agent": "planner", "model": "demonstration"},
        "pivotIndex": 3,
        "mandate": {"maxSpendEur": 250, "expiresAt": (now + timedelta(days=30)).isoformat()},
        "steps": steps,
    }
    return json.dumps(plan, indent=2).encode()


def _step(name: str, tool: str, undo: str, reference: str, **numbers: int) -> dict[str, Any]:
    compensation = {"tool": undo, "args": {"ref": reference}}
    return {"id": name, "tool": tool, "class": "compensable", "compensation": compensation, **numbers}
