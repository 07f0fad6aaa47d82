"""Which files does the house consist of? Those of a fresh clone, with or without git."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOT_OURS = {".git", ".venv", "var", "__pycache__"}


@cache
def files() -> list[Path]:
    """Return every file of the project: what git tracks or would track, else all but what is made here."""
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):  # no git, or a folder that is no clone
        return sorted(_walk(ROOT))
    return sorted(path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file())


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in NOT_OURS and not path.name.endswith("_cache"):
                yield from _walk(path)
        elif path.suffix != ".pyc":
            yield path


def python_files() -> list[Path]:
    """Return our own Python files, without what Django generates."""
    return [path for path in files() if path.suffix == ".py" and "migrations" not in path.parts]


def texts(*suffixes: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file that is text, of these suffixes or of all."""
    for path in files():
        if not suffixes or path.suffix in suffixes:
            try:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # a picture
                continue
