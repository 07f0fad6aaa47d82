"""Do the lock files hold what pyproject.toml asks for, each line with hashes and without an address?"""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.rules.house import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-test.lock": PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"],
}


def pins(lock: str) -> dict[str, Version]:
    """Return the locked version of each name."""
    found = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)
    return {name: Version(version) for name, version in found}


@pytest.mark.parametrize("lock", WANTED)
def test_what_is_asked_for_is_locked(lock):
    locked = pins(lock)
    for line in WANTED[lock]:
        wanted = Requirement(line)
        assert locked[canonicalize_name(wanted.name)] in wanted.specifier


@pytest.mark.parametrize("lock", WANTED)
def test_every_line_is_a_pin_or_its_hash(lock):
    entries = (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^;]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*", entry), entry


def test_both_locks_agree():
    tests = pins("requirements-test.lock")
    assert {name: tests.get(name) for name in pins("requirements.lock")} == pins("requirements.lock")


def test_every_dependency_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text()
    lines = re.findall(r'^    "[a-z][^"]+[>=<][^"]*",(.*)$', text, re.MULTILINE)
    assert len(lines) >= len(WANTED["requirements-test.lock"])
    assert [line for line in lines if not re.match(r"\s+# \S", line)] == []
