"""Take many actions back together, or bring them back: the verbs of a batch."""

from sideeffects.services.batch_decide import BatchAtWorkError, resume, retry, stop
from sideeffects.services.batch_restore import NothingToRestoreError, restore
from sideeffects.services.batch_start import (
    BatchKeyReusedError,
    NothingSelectedError,
    SelectionChangedError,
    start,
    wake_batches,
)
from sideeffects.services.batch_work import BatchVoidError, work

__all__ = [
    "BatchAtWorkError",
    "BatchKeyReusedError",
    "BatchVoidError",
    "NothingSelectedError",
    "NothingToRestoreError",
    "SelectionChangedError",
    "restore",
    "resume",
    "retry",
    "start",
    "stop",
    "wake_batches",
    "work",
]
