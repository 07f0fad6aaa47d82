"""What if the database ends a transaction because two wait for each other? It is begun again, a few times.

Everyone locks in one order: agent, groups by key, local rows (types as their adapters are registered, rows by key). A
tool of an adopter may lock otherwise; then the database picks one of two and nothing of that one has happened.
"""

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

TRIES = 3
_ENDED = {"40P01", "40001"}  # deadlock_detected, serialization_failure

T = TypeVar("T")


class BusyError(Exception):
    """Others worked on the same rows each time; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("Others are changing the same objects just now; nothing was changed. Try again.")


def is_ended_by_others(error: BaseException) -> bool:
    """Say whether the database ended a transaction in favour of another."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", None) in _ENDED


def retried(act: Callable[[], T]) -> T:
    """Return what comes of it; raises BusyError after the last try. Inside a transaction its owner decides instead."""
    for _ in range(TRIES):
        try:
            return act()
        except OperationalError as error:
            if not is_ended_by_others(error) or transaction.get_connection().in_atomic_block:
                raise
    raise BusyError
