"""How is a verdict written down? Plain data for programs, lines for people."""

from collections.abc import Iterator, Sequence
from typing import Any

from plans.core.fixes import Fix
from plans.core.sentences import Remark
from plans.core.verdict import ASSUMPTIONS, Verdict


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Return everything there is to say, as plain data."""
    return {
        "ok": verdict.ok,
        "violations": remarks(verdict.violations, verdict.fixes),
        "warnings": remarks(verdict.warnings),
        "fixes": [fix.as_json() for fix in verdict.fixes],
        "filledIn": verdict.filled_in,
        "assumptions": list(ASSUMPTIONS),
        "digest": verdict.digest,
        "signature": verdict.signature,
        "profile": verdict.profile,
        "judgedAt": verdict.now.isoformat(),
        "timeline": verdict.timeline.as_json() if verdict.timeline else None,
        "counterexample": verdict.counterexample.as_json() if verdict.counterexample else None,
    }


def remarks(found: Sequence[Remark], fixes: Sequence[Fix] = ()) -> list[dict[str, Any]]:
    """Return violations or warnings as plain data, each with its part of the first fix where there is one."""
    return [_remark(remark, fixes) for remark in found]


def _remark(remark: Remark, fixes: Sequence[Fix]) -> dict[str, Any]:
    said: dict[str, Any] = {"rule": remark.rule, "path": list(remark.path), "message": remark.message}
    edits = fix_of(remark, fixes)
    return {**said, "fix": edits} if edits else said


def fix_of(remark: Remark, fixes: Sequence[Fix]) -> list[dict[str, Any]]:
    """Return this violation's part of the first fix: those of its step where there are such, else all of its rule."""
    edits = [edit for edit in fixes[0].edits if edit.rule == remark.rule] if fixes else []
    own = [edit for edit in edits if edit.path[:2] == remark.path[:2]]
    return [edit.as_json() for edit in own or edits]


def as_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the lines a person reads: violations, warnings, then what was taken for granted and what would help."""
    for remark in verdict.violations:
        yield f"  violation  {remark.place}  {remark.rule}  {remark.message}"
    for remark in verdict.warnings:
        yield f"  warning    {remark.place}  {remark.rule}  {remark.message}"
    for said in verdict.filled_in:
        yield f"  filled in  {said}"
    for fix in verdict.fixes:
        yield f"  way out    {fix.name}: {fix.text}"
    if verdict.plan is not None:
        yield from (f"  assumed    {said}" for said in ASSUMPTIONS)


def headline(verdict: Verdict) -> str:
    """Return the verdict in a few words, with its counts."""
    refused, warned = len(verdict.violations), len(verdict.warnings)
    counts = [f"{refused} violation{'s' * (refused != 1)}"] if refused else []
    counts += [f"{warned} warning{'s' * (warned != 1)}"] if warned else []
    word = "accepted" if verdict.ok else "refused"
    return f"{word}: {', '.join(counts)}" if counts else word
