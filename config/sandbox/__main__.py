"""What is the sandbox? A target to try compensations on, as a program of its own: `python -m config.sandbox --help`.

It imports nothing of this project, verifies tokens by another library than the one that makes them, and is stopped by
SIGTERM, or by the end of its standard input where `--watch-stdin` is given.
"""

import argparse
import base64
import signal
import sys
import threading
import time
from pathlib import Path

from config.sandbox.callbacks import Teller
from config.sandbox.server import Sandbox, Server
from config.sandbox.store import Store
from config.sandbox.tokens import Keys


def main() -> None:
    """Serve until told to stop."""
    options = arguments()
    stopping = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    if options.watch_stdin:
        threading.Thread(target=watch, args=[stopping], daemon=True).start()
    store = Store(file=options.state, settle_after=options.settle_after, clock=time.time)
    teller = Teller(store, url=options.callback, secret=options.secret, stopping=stopping)
    server = listening(
        options.port,
        Sandbox(
            store=store,
            teller=teller,
            keys=Keys(options.jwks),
            issuer=options.issuer,
            audience=options.audience,
            stopping=stopping,
        ),
    )
    teller.start()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    print(f"ready http://127.0.0.1:{store.port}", flush=True)  # noqa: T201  (what whoever started it waits for)
    stopping.wait()
    server.shutdown()
    server.server_close()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m config.sandbox", description="A target to try compensations on.")
    parser.add_argument("--port", type=int, default=0, help="default: the one of the last time, else any free one")
    parser.add_argument("--jwks", required=True, help="where the console publishes its keys")
    parser.add_argument("--issuer", required=True, help="who makes the tokens")
    parser.add_argument("--audience", required=True, help="what its tokens are made out to")
    parser.add_argument("--callback", default="", help="where the console hears that work has settled")
    parser.add_argument("--secret", default="", help="whsec_…, signs callbacks; - reads it from standard input")
    parser.add_argument("--settle-after", type=float, default=2.0, metavar="SECONDS", help="default: 2")
    parser.add_argument("--state", type=Path, metavar="FILE", help="what is kept over a restart")
    parser.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")
    options = parser.parse_args()
    if options.secret == "-":  # noqa: S105  (it says where the secret comes from)
        options.secret = sys.stdin.readline().strip()
    if options.callback and not is_secret(options.secret):
        parser.error("--callback needs --secret whsec_… (base64)")
    if not options.jwks.startswith(("http://", "https://")):
        parser.error("--jwks: an http address")
    return options


def is_secret(text: str) -> bool:
    """Say whether callbacks can be signed with it."""
    try:
        return text.startswith("whsec_") and bool(base64.b64decode(text.removeprefix("whsec_"), validate=True))
    except ValueError:
        return False


def listening(port: int, sandbox: Sandbox) -> Server:
    """Return a server on the wanted port, else on the one of the last time, else on any; exits where it is taken."""
    for wanted in [port] if port else [sandbox.store.port, 0]:
        try:
            server = Server(wanted, sandbox)
        except OSError as error:
            last = error
            continue
        sandbox.store.port = server.server_address[1]
        sandbox.store.keep()
        return server
    sys.exit(f"Cannot listen on 127.0.0.1:{port} ({last.strerror})")


def watch(stopping: threading.Event) -> None:
    """Stop when whoever started this is gone: the system closes the pipe, however it ended."""
    while sys.stdin.read(4096):
        pass
    stopping.set()


if __name__ == "__main__":
    main()
