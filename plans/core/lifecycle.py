"""Which states does an execution have, and what moves it from one to the next? One table."""

from enum import StrEnum


class ExecutionState(StrEnum):
    """Where an execution stands. Blocked, perishing and unrecoverable are not states: they follow from the clock."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"  # after the pivot, where nothing goes on and nothing is rolled back
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"


S = ExecutionState
TABLE: dict[tuple[ExecutionState, str], ExecutionState] = {
    (S.RUNNING, "finish"): S.FINISHED,
    (S.RUNNING, "stop"): S.STOPPED,
    (S.RUNNING, "roll_back"): S.ROLLING_BACK,
    (S.ROLLING_BACK, "roll_back"): S.ROLLING_BACK,
    (S.ROLLED_BACK, "roll_back"): S.ROLLING_BACK,
    (S.ROLLING_BACK, "settle"): S.ROLLED_BACK,
}


class ExecutionStateError(Exception):
    """What was asked is not possible in the state in which the execution is."""

    def __init__(self, state: ExecutionState, action: str) -> None:
        self.state, self.action = state.value, action
        super().__init__(f"This execution is {state.value.replace('_', ' ')}; it cannot {action.replace('_', ' ')}.")


def after(state: ExecutionState, action: str) -> ExecutionState:
    """Return the state that an action leads to; raises ExecutionStateError."""
    if (state, action) not in TABLE:
        raise ExecutionStateError(state, action)
    return TABLE[state, action]
