"""Does every change have the one shape: keyword-only, `by` and `now`, and its event named?"""

import ast
import re
from pathlib import Path

import pytest

from audit.events import CATALOGUE

ROOT = Path(__file__).parents[2]
SERVICES = sorted(path for app in ("sideeffects", "plans") for path in (ROOT / app / "services").glob("*.py"))
# Asked before anyone is known, so there is no `by`: what it changes is a time of use.
ANONYMOUS = {"tokens.authenticate"}


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _writers():
    """Public functions whose body opens a transaction, or is decorated with one."""
    for path in SERVICES:
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if "transaction.atomic" in ast.unparse(node) and f"{path.stem}.{node.name}" not in ANONYMOUS:
                yield pytest.param(node, id=f"{path.stem}.{node.name}")


@pytest.mark.parametrize("function", list(_writers()))
def test_a_service_takes_by_and_now_by_keyword(function):
    assert {"by", "now"} <= {argument.arg for argument in function.args.kwonlyargs}


def test_there_are_services_to_look_at():
    assert len(list(_writers())) >= 8


def _actions_written():
    for path in SERVICES:
        yield from re.findall(r'Entry\(\s*(?:action=)?"(\w+)"', path.read_text())


def test_every_event_that_a_service_writes_is_in_the_catalogue():
    assert set(_actions_written()) <= set(CATALOGUE)


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_services_ask_no_clock_and_see_no_request(path):
    text = path.read_text()
    assert "timezone.now" not in text
    assert "datetime.now" not in text
    assert not re.search(r"\bHttpRequest\b|\brest_framework\.request\b", text)


def test_only_services_write_the_log():
    allowed = {"services", "views", "services.py", "log.py", "tests"}
    for app in ("sideeffects", "plans", "config"):
        for path in (ROOT / app).rglob("*.py"):
            if "log.append(" in path.read_text():
                assert allowed & set(path.parts), path


@pytest.mark.parametrize("path", [*(ROOT / "sideeffects").rglob("*.py")], ids=lambda path: path.name)
def test_only_services_and_adapters_touch_targets(path):
    parts = path.relative_to(ROOT).parts
    imports = set(_imports(ast.parse(path.read_text())))
    if any(name.startswith("sideeffects.targets.local") for name in imports):
        assert parts[1] in {"services", "targets", "api", "views"} or "test" in path.name
