"""How does a test sign the log, and check what is given out as an auditor would?"""

import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from audit import checkpoints, verify_offline
from audit.held import Held, hold
from tests.factories import later

_minutes = iter(range(1, 1_000_000))


def signed() -> checkpoints.Kept:
    """Sign the log as it is and return the checkpoint."""
    kept = checkpoints.sign(now=later(minutes=next(_minutes)))
    assert kept is not None
    return kept


def holding(*kept: checkpoints.Kept) -> Held:
    """Return what an auditor holds who kept these checkpoints and the key of the first."""
    return hold([one.note for one in kept], kept[0].key)


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root as RFC 6962 defines it word by word, by nothing that the log is made with."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256().digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + plain_root(leaves[:half]) + plain_root(leaves[half:])).digest()


def at_home(folder: Path, key: str, *files: Path, checkpoints: Sequence[str] = ()) -> tuple[int, str]:
    """Run the program an auditor takes home, with nothing but the standard library beside it."""
    program = folder / "home" / "verify_offline.py"
    program.parent.mkdir(exist_ok=True)
    program.write_bytes(Path(verify_offline.__file__).read_bytes())
    (folder / "home" / "key").write_text(key + "\n", encoding="utf-8")
    options = []
    for number, text in enumerate(checkpoints):
        file = folder / "home" / f"{number}.checkpoint"
        file.write_text(text, encoding="utf-8")
        options += ["--checkpoint", str(file)]
    options += ["--key", str(folder / "home" / "key")]
    command = [sys.executable, "-I", "-S", str(program), *map(str, files), *options]
    done = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False, encoding="utf-8")
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout
