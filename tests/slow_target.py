"""What does a target look like that takes its time? A process of its own: 202 after so many seconds, for ever.

`python -m tests.slow_target SECONDS` prints its port and serves until its input closes.
"""

import sys
import time

from tests.fakes import serving


def main(seconds: float) -> None:
    """Serve until the input closes."""

    def slow(_seen: object) -> tuple[int, dict[str, str], bytes]:
        time.sleep(seconds)
        return 202, {}, b""

    with serving(slow) as fake:
        sys.stdout.write(f"{fake.port}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(float(sys.argv[1]))
