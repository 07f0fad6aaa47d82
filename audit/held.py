"""What does an auditor hold? Checkpoints from outside, and the keys that signed them; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from audit import note


class UnusableCheckpointError(Exception):
    """A checkpoint that was handed over proves nothing: it cannot be read, or none of the keys has signed it."""


@dataclass(frozen=True)
class Held:
    """Checkpoints an auditor kept, by size, each opened with the auditor's own keys."""

    heads: tuple[note.Head, ...]
    keys: tuple[note.Verifier, ...]

    @property
    def size(self) -> int:
        """Return how many records the largest of them covers."""
        return self.heads[-1].size

    @property
    def checked(self) -> note.Head:
        """Return the smallest, from which an incremental check goes on."""
        return self.heads[0]


def hold(notes: Sequence[str], keys: str) -> Held:
    """Open checkpoints with the keys of a file; raises UnusableCheckpointError.

    Two of one origin and size that name different roots can both be held, and then nothing verifies.
    """
    if not notes:
        raise UnusableCheckpointError("there is no checkpoint to verify against")
    try:
        verifiers = note.read_verifiers(keys)
        heads = {note.open_checkpoint(one, verifiers) for one in notes}
    except (note.BadNoteError, note.UnsignedError) as error:
        raise UnusableCheckpointError(str(error)) from error
    if not all(head.size for head in heads):
        raise UnusableCheckpointError("a checkpoint of no records proves nothing")
    return Held(tuple(sorted(heads, key=lambda head: (head.size, head.root))), tuple(verifiers))


def hold_pasted(checkpoint: str, key: str) -> Held | None:
    """Open a checkpoint that somebody pasted, with the key beside it; None where neither was."""
    if not checkpoint.strip() and not key.strip():
        return None
    note_text = checkpoint.replace("\r\n", "\n").strip() + "\n"
    return hold([note_text], key.replace("\r\n", "\n"))
