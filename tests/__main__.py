"""What does `manage.py test` run? The suite on PostgreSQL, then the part marked `both` again on SQLite."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

INTERRUPTED, NOTHING_SELECTED = 2, 5  # pytest's exit codes
SQLITE = "sqlite:///{folder}/test.sqlite3"


def main(arguments: list[str]) -> int:
    """Run both passes with these pytest arguments; return 0 only if something ran and all of it passed."""
    codes, counts = [], Counter[str]()
    with tempfile.TemporaryDirectory(prefix="tb-") as folder:
        for name, variables in (("PostgreSQL", {}), ("SQLite", {"TEST_DATABASE_URL": SQLITE.format(folder=folder)})):
            sys.stdout.write(f"\n{name}\n")
            sys.stdout.flush()
            tally = Path(folder) / name
            codes.append(run(arguments, {**variables, "TEST_TALLY": str(tally)}))
            counts.update(json.loads(tally.read_text()) if tally.exists() else {})
            if codes[-1] == INTERRUPTED or codes[-1] < 0:  # by Ctrl-C, or by a signal
                break
    sys.stdout.write(f"\nTogether: {counts['passed']} passed, {counts['failed'] + counts['error']} failed\n")
    return abs(next((code for code in codes if code not in {0, NOTHING_SELECTED}), min(codes)))


def run(arguments: list[str], variables: dict[str, str]) -> int:
    """Run pytest once, on all cores up to four unless the arguments say otherwise; Ctrl-C reaches it by itself."""
    own = any(word.startswith(("-n", "--pdb")) for word in arguments)
    workers = [] if own else ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "worksteal"]
    process = subprocess.Popen([sys.executable, "-m", "pytest", *workers, *arguments], env=os.environ | variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
