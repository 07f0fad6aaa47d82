"""How fast is the validator, beside json.loads on the same bytes in the same run?"""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from statistics import median
from typing import Any

from plans.core import canonical
from plans.core.verdict import validate

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SIZES = (6, 200, 2_000)
ROUNDS = 41  # pairs of measurements, one of each kind after the other: what disturbs the machine disturbs both
STEPS_A_ROUND = 6_000
Figure = dict[str, Any]


def validator() -> Iterator[Figure]:
    """Measure bytes in, verdict out: six rules, duplicate members and unsafe integers included.

    `value` is µs a plan, `limit` what json.loads needs for the same bytes, `ratio` the median of the pairs' ratios.
    Warnings are worked out when asked for, as digest and fixes are; one figure shows what asking costs.
    """
    per_step = {}
    for steps in SIZES:
        data = sound_plan(steps)
        assert validate(data, now=NOW).ok
        figure = _against_loads(f"{steps} steps, {len(data)} bytes", data, steps)
        per_step[steps] = (figure["value"] / steps, figure["limit"] / steps)
        yield figure
    (few, few_loads), (many, many_loads) = per_step[SIZES[1]], per_step[SIZES[2]]
    case = f"a step of {SIZES[2]}, beside one of {SIZES[1]}"
    yield {"case": case, "value": round(many, 3), "unit": "µs", "limit": round(few, 3), "ratio": round(many / few, 3)}
    case, ratio = f"json.loads: {case}", round(many_loads / few_loads, 3)
    yield {"case": case, "value": round(many_loads, 3), "unit": "µs", "limit": round(few_loads, 3), "ratio": ratio}
    few_bytes = sound_plan(SIZES[0])
    yield _against_loads(f"warnings read, 6 steps, {len(few_bytes)} bytes", few_bytes, 6, asking="warnings")
    indented = json.dumps(json.loads(few_bytes), indent=2).encode()
    yield _against_loads(f"indented, 6 steps, {len(indented)} bytes", indented, 6)


def _against_loads(case: str, data: bytes, steps: int, asking: str = "ok") -> Figure:
    number = max(1, STEPS_A_ROUND // steps)
    pairs = [
        (
            _timed(lambda: getattr(validate(data, now=NOW), asking), number),
            _timed(lambda: json.loads(data), number),
        )
        for _ in range(ROUNDS)
    ]
    return {
        "case": case,
        "value": round(median(ours for ours, _ in pairs), 2),
        "unit": "µs",
        "limit": round(median(loads for _, loads in pairs), 2),
        "ratio": round(median(ours / loads for ours, loads in pairs), 3),
    }


def _timed(work: Callable[[], object], number: int) -> float:
    # The processor's time for this thread: on a busy machine the clock on the wall measures who else is running.
    began = time.thread_time_ns()
    for _ in range(number):
        work()
    return (time.thread_time_ns() - began) / number / 1_000


def sound_plan(count: int) -> bytes:
    """Return a plan of `count` steps as an agent's client sends it: half before the pivot; all is declared."""
    pivot = count // 2
    steps: list[dict[str, Any]] = []
    for index in range(count):
        step: dict[str, Any] = {
            "id": f"s{index}",
            "tool": f"supplier.onboarding.task{index % 10}",
            "class": "retriable",
        }
        if index < pivot:
            arguments = {"ref": f"$s{index}.hold", "reason": "the saga was rolled back", "notify": "purchasing"}
            step |= {"class": "compensable", "compensation": {"tool": "supplier.onboarding.undo", "args": arguments}}
            step["undoTtlSeconds"] = 8_640_000
        elif index == pivot:
            step["class"] = "irreversible"
        step |= {"maxSpendEur": 1, "maxDurationSeconds": 60}
        steps.append({**step, "idempotencyKey": canonical.key("sg_bench", step)})
    plan = {
        "$comment": "A plan for measuring: members are declared, nothing is refused, as a plan should be.",
        "sagaId": "sg_bench",
        "planVersion": 1,
        "authoredBy": {"agent": "planner@example", "model": "example-model-1"},
        "signature": "ed25519:" + "A" * 86 + "==",
        "pivotIndex": pivot,
        "mandate": {"maxSpendEur": 2_500, "expiresAt": "2027-08-07T18:00:00Z"},
        "steps": steps,
    }
    return json.dumps(plan, separators=(",", ":")).encode()
