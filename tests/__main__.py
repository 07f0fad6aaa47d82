"""What does `manage.py test` run? The suite on PostgreSQL and, beside it, the part marked `both` again on SQLite."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO

INTERRUPTED, NOTHING_SELECTED = 2, 5  # pytest's exit codes
CORES = min(os.cpu_count() or 1, 4)
# Tests wait often enough for half as many processes again as there are cores.
WORKERS = {"PostgreSQL": CORES, "SQLite": (CORES + 1) // 2}
Running = subprocess.Popen[bytes]


def main(arguments: list[str]) -> int:
    """Run both passes with these pytest arguments; return 0 only if something ran and all of it passed.

    They run at once, and what the second says is shown when both have ended; one after another where the arguments ask
    for the long tests or a debugger, or say how many workers there are, and where they would share a broker.
    """
    running: list[Running] = []

    def stop(*_: object) -> None:
        for process in running:
            process.terminate()

    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches each pass by itself
    signal.signal(signal.SIGTERM, stop)
    alone = has_own_workers(arguments) or "--soak" in arguments or "TEST_REDIS_URL" in os.environ
    with tempfile.TemporaryDirectory(prefix="tb-") as name:
        folder = Path(name)
        codes = one_by_one(arguments, folder, running) if alone else at_once(arguments, folder, running)
        tallies = [json.loads(path.read_text()) for path in folder.glob("*.tally")]
    counts = sum(map(Counter, tallies), Counter[str]())
    sys.stdout.write(f"\nTogether: {counts['passed']} passed, {counts['failed'] + counts['error']} failed\n")
    return abs(next((code for code in codes if code not in {0, NOTHING_SELECTED}), min(codes)))


def at_once(arguments: list[str], folder: Path, running: list[Running]) -> list[int]:
    """Run both passes beside each other; return how they ended."""
    with (folder / "said").open("w+b") as said:
        running.append(start("PostgreSQL", arguments, folder, None))
        running.append(start("SQLite", arguments, folder, said))
        say("PostgreSQL")
        codes = [process.wait() for process in running]
        say("SQLite")
        said.seek(0)
        shutil.copyfileobj(said, sys.stdout.buffer)
        sys.stdout.flush()
    return codes


def one_by_one(arguments: list[str], folder: Path, running: list[Running]) -> list[int]:
    """Run the passes one after another, the second unless the first was stopped; return how they ended."""
    codes: list[int] = []
    for name in WORKERS:
        say(name)
        running[:] = [start(name, arguments, folder, None)]
        codes.append(running[0].wait())
        if codes[-1] == INTERRUPTED or codes[-1] < 0:  # by Ctrl-C, or by a signal
            break
    return codes


def has_own_workers(arguments: list[str]) -> bool:
    """Tell whether the arguments leave no choice of how many workers there are."""
    return any(word.startswith(("-n", "--pdb")) for word in arguments)


def start(name: str, arguments: list[str], folder: Path, out: IO[bytes] | None) -> Running:
    """Start one pass, which leaves its counts in the folder."""
    workers = [] if has_own_workers(arguments) else ["-n", str(WORKERS[name]), "--dist", "worksteal"]
    variables = {"TEST_TALLY": str(folder / f"{name}.tally")}
    if name == "SQLite":
        variables["TEST_DATABASE_URL"] = f"sqlite:///{folder}/test.sqlite3"
    command = [sys.executable, "-m", "pytest", *workers, *arguments]
    return subprocess.Popen(command, env=os.environ | variables, stdout=out, stderr=out and subprocess.STDOUT)


def say(name: str) -> None:
    """Head what a pass says."""
    sys.stdout.write(f"\n{name}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
