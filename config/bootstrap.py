"""How does `manage.py` come to its dependencies on a bare Python? Standard library only."""

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "takeback.json"  # there once an installation is whole, and only then
OURS = VENV / "made-by-takeback"  # what was made here may be made anew; another's environment is never removed


class SetupError(Exception):
    """The environment cannot be made; the message says what a person can do."""


def enter(argv: list[str]) -> None:
    """Take `--data` out of `argv`, make `.venv` when needed, and go on inside it; returns where everything is there."""
    try:
        take_data_folder(argv)
        command = argv[1] if len(argv) > 1 else ""
        if command == "up":
            os.environ["TAKEBACK_DEMO"] = "0" if "--no-demo" in argv else "1"
        extras = {"test"} if command == "test" else set()
        if extras:
            keep_bytecode()
        if not has_what_is_locked(lock_of(extras)):
            become([str(make_environment(extras)), str(ROOT / "manage.py"), *argv[1:]])
        if command == "test":
            os.chdir(ROOT)
            become([sys.executable, "-m", "tests", *argv[2:]])
    except SetupError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")


def keep_bytecode() -> None:
    """Let Python write what it compiled: dozens of processes of a test run import the same, some of it rewritten."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def take_data_folder(argv: list[str]) -> None:
    """Move `--data DIR` or `--data=DIR` from `argv` into TAKEBACK_DATA."""
    for index, word in enumerate(argv):
        if word == "--data" or word.startswith("--data="):
            taken = argv[index : index + 1] if "=" in word else argv[index : index + 2]
            folder = taken[-1].partition("=")[2] if "=" in word else "".join(taken[1:])
            if not folder or folder.startswith("--"):
                raise SetupError("--data needs a folder: --data DIR")
            os.environ["TAKEBACK_DATA"] = str(Path(folder).expanduser().resolve())
            del argv[index : index + len(taken)]
            return


def lock_of(extras: set[str]) -> Path:
    """Return the lock file that holds these extras."""
    return ROOT / ("requirements-test.lock" if extras else "requirements.lock")


def has_what_is_locked(lock: Path) -> bool:
    """Tell whether this very Python can import the locked versions; lines for other platforms may be absent."""
    if in_our_environment():
        return is_whole({"test"} if "test" in lock.name else set())
    for line in lock.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("==")
        if not rest or line.startswith((" ", "#")):
            continue
        try:
            if metadata.version(name) != rest.split()[0]:
                return False
        except metadata.PackageNotFoundError:
            if ";" not in rest:
                return False
    return True


def in_our_environment() -> bool:
    """Tell whether this Python is the one in `.venv`."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def stamp_of(extras: set[str]) -> dict[str, object]:
    """Return what `.venv` must have been made from: these files, these extras, this minor version of Python."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", lock_of(extras)):
        digest.update(path.read_bytes())
    python = "{}-{}.{}".format(sys.implementation.name, *sys.version_info[:2])
    return {"extras": sorted(extras), "files": digest.hexdigest(), "python": python}


def read_stamp() -> dict[str, object]:
    """Return the stamp of `.venv`; empty where it was never whole, or its Python has gone."""
    try:
        found = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and python_of_venv().exists() else {}


def is_whole(extras: set[str]) -> bool:
    """Tell whether `.venv` holds what is locked, with these extras or more."""
    stamp = read_stamp()
    installed = stamp.get("extras", [])
    held = set(installed) if isinstance(installed, list) else set()
    return bool(stamp) and extras <= held and stamp == stamp_of(held)


def python_of_venv() -> Path:
    """Return the interpreter of `.venv`."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(extras: set[str]) -> Path:
    """Bring `.venv` to what is locked, one process at a time, and return its interpreter."""
    if is_whole(extras):
        return python_of_venv()
    with locked():
        if not is_whole(extras):
            try:
                install(extras)
            except OSError as error:
                raise SetupError(f"Cannot set up {VENV}: {error}") from error
            except subprocess.CalledProcessError as error:
                sys.stderr.write((error.stdout or "") + (error.stderr or ""))
                raise SetupError(
                    f"Cannot set up {VENV}: the installation failed, see above. The next try starts anew."
                ) from error
    return python_of_venv()


def install(extras: set[str]) -> None:
    """Make `.venv` or go on with it, install from the lock file, and stamp it last."""
    stamp = read_stamp()
    if stamp.get("python") == stamp_of(set())["python"]:
        held = stamp.get("extras", [])
        extras = extras | set(held if isinstance(held, list) else [])
    else:
        clear()
    STAMP.unlink(missing_ok=True)
    sys.stderr.write(f"Setting up {VENV} from {lock_of(extras).name} …\n")
    for command in commands(lock_of(extras)):
        subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)  # noqa: S603  (its words are fixed here)
    STAMP.write_text(json.dumps(stamp_of(extras)), encoding="utf-8")


def clear() -> None:
    """Leave an empty `.venv` of our own; what somebody else made there is kept and installed into."""
    if OURS.exists():
        if in_our_environment():
            raise SetupError(f"{VENV} is not whole: run manage.py with the Python outside it, which makes it anew.")
        shutil.rmtree(VENV)
    if not VENV.exists():
        VENV.mkdir()
        OURS.touch()


def commands(lock: Path) -> list[list[str]]:
    """Return what makes the environment, unless it is there, and installs `lock`, which is complete, into it."""
    fresh = not python_of_venv().exists()
    uv = shutil.which("uv")
    make, install = by_uv(uv) if uv else by_pip(fresh=fresh)
    return [*([make] if fresh else []), [*install, "-q", "--no-deps", "--require-hashes", "-r", str(lock)]]


def by_uv(uv: str) -> tuple[list[str], list[str]]:
    """Return how uv makes the environment and installs into it."""
    make = [uv, "venv", "-q", "--allow-existing", "--python", sys.executable, str(VENV)]
    install = [uv, "pip", "install", "--python", str(python_of_venv())]
    if not os.access(Path.home(), os.W_OK):  # a service's user has none, and uv insists on its cache there
        os.environ.setdefault("UV_NO_CACHE", "1")
    return make, [*install, "--compile-bytecode"] if sys.dont_write_bytecode else install


def by_pip(*, fresh: bool) -> tuple[list[str], list[str]]:
    """Return the same for the host's pip, else the environment's own; raises SetupError where there is neither."""
    make, python = [sys.executable, "-m", "venv", str(VENV)], str(python_of_venv())
    if host_pip_can():  # the environment needs no pip of its own: 10 s less
        make, pip = [*make, "--without-pip"], [sys.executable, "-m", "pip", "--python", python]
    elif importlib.util.find_spec("ensurepip") if fresh else any(VENV.glob("[Ll]ib/**/site-packages/pip")):
        pip = [python, "-m", "pip"]
    else:
        raise SetupError("Takeback needs uv, or pip for this Python (on Debian and Ubuntu: apt install python3-venv).")
    install = [*pip, "install", "--disable-pip-version-check"]
    return make, install if sys.dont_write_bytecode else [*install, "--no-compile"]  # the first import compiles


def host_pip_can() -> bool:
    """Tell whether the host's pip is there and can install into another environment (`--python`, 22.3)."""
    if not importlib.util.find_spec("pip"):
        return False
    major, minor = metadata.version("pip").split(".")[:2]
    return (int(major), int(minor)) >= (22, 3)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the installation for this process alone; others wait. The lock goes with the process, however it ends."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        if os.name == "nt":
            wait_for_byte(file.fileno())
        else:
            import fcntl  # noqa: PLC0415  (not on Windows)

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait_for_byte(descriptor: int) -> None:
    """Lock one byte beyond the file's end; Windows gives up after ten tries of a second each, so ask again."""
    import msvcrt  # noqa: PLC0415  (on Windows only)

    os.lseek(descriptor, 1 << 30, os.SEEK_SET)
    while True:
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined, unused-ignore]  # Windows only
            return


def become(command: list[str]) -> None:
    """Go on as `command`, in this process where the system can."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":
        sys.exit(subprocess.call(command))  # noqa: S603  (its own interpreter and arguments)
    os.execv(command[0], command)  # noqa: S606  (the same)
