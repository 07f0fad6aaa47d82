"""What is said of one action of a batch when its turn is over?"""

from datetime import datetime

from sideeffects.batches.counts import NOT_ASKED, OUTSIDE
from sideeffects.models import BatchItem
from sideeffects.services.answers import Answer, Result
from sideeffects.services.refuse import name_of
from sideeffects.services.revoke import NotRevocableError
from sideeffects.targets.local import MembersFailedError
from sideeffects.transitions import Outcome

BEFORE = "was taken back before, not by this"
BACK_BEFORE = "was restored before, not by this"
REVOKED_SINCE = "revoked again since, not by this batch"
_OF = {MembersFailedError: Outcome.FAILED, NotRevocableError: Outcome.NOT_REVOCABLE}


def is_plain(result: Result) -> bool:
    """Say whether all of it was taken back now, and there is nothing else to say."""
    answer = result.answer
    return answer is not None and not answer.already and answer.outcome is Outcome.REVOKED and not _detail(answer)


def of_revoke(item: BatchItem, result: Result, *, now: datetime) -> None:
    """Say on an item what a revoke came to."""
    if result.answer is None:
        _refused(item, result, now=now)
        return
    answer = result.answer
    if answer.outcome is Outcome.NOT_ATTEMPTED:  # a target could not be asked, while the rest went
        why = next((member.detail for member in answer.members if member.outcome is Outcome.NOT_ATTEMPTED), "")
        _say(item, Outcome.SKIPPED, f"{_counts(answer)}: {why}", now=now, refusal=NOT_ASKED)
    else:
        _say(item, answer.outcome, BEFORE if answer.already else _detail(answer), now=now)


def of_restore(item: BatchItem, result: Result, *, now: datetime) -> None:
    """Say on an item what a restore came to."""
    if result.answer is None:
        _refused(item, result, now=now)
        return
    _say(item, Outcome.RESTORED, BACK_BEFORE if result.answer.already else _outside(result.answer), now=now)


def revoked_since(item: BatchItem, *, now: datetime) -> None:
    """Say that what lies in the trash of it lies there by another asking."""
    _say(item, Outcome.SKIPPED, REVOKED_SINCE, now=now, refusal="revoked-since")


def failed(item: BatchItem, error: Exception, *, now: datetime) -> None:
    """Say that something failed which nobody foresaw; not its text, which may hold anything."""
    _say(item, Outcome.FAILED, f"Nothing was changed: {type(error).__name__}.", now=now, refusal="failed")


def _refused(item: BatchItem, result: Result, *, now: datetime) -> None:
    assert result.refusal is not None
    outcome = _OF.get(type(result.refusal), Outcome.SKIPPED)
    _say(item, outcome, str(result.refusal), now=now, refusal=name_of(result.refusal))


def _say(item: BatchItem, outcome: Outcome, detail: str, *, now: datetime, refusal: str = "") -> None:
    item.outcome, item.detail, item.refusal, item.worked_at = outcome.value, detail[:500], refusal[:60], now


def _detail(answer: Answer) -> str:
    """Return the numbers where members fared differently, else what is said of the first."""
    if len(answer.counts) > 1:
        return _counts(answer)
    return next((member.detail for member in answer.members if member.detail), "")


def _counts(answer: Answer) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in answer.counts.items())


def _outside(answer: Answer) -> str:
    """Return how many members stay with their targets."""
    number = sum(member.effect.state in OUTSIDE for member in answer.members)
    if number == 1:
        return "1 stays with its target"
    return f"{number} stay with their targets" if number else ""
