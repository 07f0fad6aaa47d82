"""What lies outside the database? The signer's keys and memory, and what is published: files, whole or not there."""

import json
import logging
import os
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.conf import settings

from audit import merkle, note

HOOK_SECONDS = 20
SECRET, PUBLIC = 0o600, 0o644
logger = logging.getLogger(__name__)


class MemoryLostError(Exception):
    """There is a key, and nothing tells what it has signed: it could be made to sign another root for an old size."""

    def __init__(self, log: str) -> None:
        self.log = log
        super().__init__(
            f"the signer's memory of the log {log} is gone; put checkpoints/{log}.memory.json back,"
            f" or take keys/{log}.skey away to sign under a new name"
        )


@dataclass(frozen=True)
class Memory:
    """What the signer remembers of one log: enough to refuse whatever does not begin with what was signed."""

    name: str  # of its keys, and of the log; with the epoch from the second on, this is the origin
    epoch: int = 1
    size: int = 0
    root: str = merkle.EMPTY.hex()
    peaks: list[str] = field(default_factory=list)
    note: str = ""  # the last checkpoint, as it was signed
    told: bool = True  # the hook has been run with it

    @property
    def origin(self) -> str:
        """Return how checkpoints name the log and its epoch."""
        return self.name if self.epoch == 1 else f"{self.name}/{self.epoch}"

    @property
    def frontier(self) -> merkle.Frontier:
        """Return the tree that was signed, ready to grow."""
        return merkle.Frontier(self.size, map(bytes.fromhex, self.peaks))


def write(path: Path, text: str, mode: int) -> None:
    """Write a file so that it is whole or as it was, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if mode == SECRET else 0o755)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def locked(log: str) -> Iterator[None]:
    """Be the only signer of a log on this machine; others wait. The lock goes with the process, however it ends."""
    path = settings.DATA_DIR / "checkpoints" / f"{log}.lock"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("ab") as file:
        if os.name == "posix":
            import fcntl  # noqa: PLC0415  (not on Windows, where `up` is the only process that signs)

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# -- Memory -----------------------------------------------------------------------------------------------------------


def _memory(log: str) -> Path:
    path: Path = settings.DATA_DIR / "checkpoints" / f"{log}.memory.json"
    return path


def remember(log: str) -> Memory:
    """Return what was signed of a log; where nothing was, a memory of nothing with a name that is no other log's."""
    path = _memory(log)
    if path.exists():
        return Memory(**json.loads(path.read_text(encoding="utf-8")))
    if _key(log).exists():
        raise MemoryLostError(log)
    fresh = Memory(name=f"{settings.LOG_ORIGIN or f'takeback.invalid/{secrets.token_hex(4)}'}/{log}")
    keep(log, fresh)
    return fresh


def keep(log: str, memory: Memory) -> None:
    """Remember, before anything that was signed leaves."""
    write(_memory(log), json.dumps(asdict(memory), indent=1), SECRET)


# -- Keys -------------------------------------------------------------------------------------------------------------


def _key(log: str, which: str = "") -> Path:
    path: Path = settings.DATA_DIR / "keys" / f"{log}{which}.skey"
    return path


def keys(log: str, name: str) -> list[note.Signer]:
    """Return the key that signs, made on first use, and the one that is to follow it, where there is one."""
    if not _key(log).exists():
        write(_key(log), note.make_signer(name).skey + "\n", SECRET)
    paths = [_key(log), _key(log, ".next")]
    return [note.read_signer(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def make_next(log: str, name: str) -> note.Signer:
    """Return the key that is to follow, made unless it waits already."""
    if not _key(log, ".next").exists():
        write(_key(log, ".next"), note.make_signer(name).skey + "\n", SECRET)
    return keys(log, name)[-1]


def hand_over(log: str) -> None:
    """Let the key that waits take the place of the old one, which is gone then."""
    _key(log, ".next").replace(_key(log))


# -- What is published ------------------------------------------------------------------------------------------------


def publish(log: str, memory: Memory, verifiers: list[note.Verifier]) -> None:
    """Lay the last checkpoint where everyone can take it, under its size and as the newest, with the public keys."""
    folder: Path = settings.CHECKPOINT_DIR / log
    write(folder / f"epoch-{memory.epoch}" / f"{memory.size:012}.checkpoint", memory.note, PUBLIC)
    write(folder / "checkpoint", memory.note, PUBLIC)
    write(folder / "keys", "".join(f"{verifier}\n" for verifier in verifiers), PUBLIC)


def tell(memory: Memory) -> bool:
    """Run the hook with the last checkpoint on its standard input; say whether that worked. None set: nothing to do."""
    if not settings.CHECKPOINT_HOOK:
        return True
    command = shlex.split(settings.CHECKPOINT_HOOK)
    try:
        subprocess.run(  # noqa: S603  (the operator's own command, without a shell)
            command, input=memory.note.encode(), timeout=HOOK_SECONDS, check=True, capture_output=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.error("the checkpoint hook failed (%s); it is run again with the next checkpoint", type(error).__name__)  # noqa: TRY400  (its output may hold anything)
        return False
    return True
