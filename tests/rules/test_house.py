"""Does the house keep its own habits? What no linter knows."""

import ast
import re

import pytest
import yaml

from tests.rules.house import ROOT, files, python_files, texts

TOP = {
    *("manage.py", "pyproject.toml", "config", "plans", "sideeffects", "audit", "templates", "tests", "README.md"),
    *("requirements.lock", "requirements-test.lock", "compose.yaml", "Dockerfile", "LICENSE", "CHANGELOG.md", ".ci"),
    *(".gitignore", ".dockerignore"),
}
THIS = "tests/rules/test_house.py"
NOTES = r"\b(TODO|FIXME|XXX|HACK)\b"
SKIPS = r"pytest\.skip|importorskip|mark\.(skip|xfail)|unittest\.skip"
MACHINES = r"(?<![\w./])/(tmp/lab|work|root|home|opt/wheels|Users)/"
REGISTRIES = r"pypi\.|pythonhosted|registry\.npmjs|registry\.yarnpkg|deb\.debian|proxy\.golang|crates\.io"
USERS = r"get_user_model\(\)\.objects|\bUser\.objects|\w__username\b|\busername=|\bfirst_name\b|owner\.username\b"
LONGEST_FILE, LONGEST_FUNCTION, SHARE = 300, 30, 0.9


def test_the_top_level_is_fixed():
    assert {path.relative_to(ROOT).parts[0] for path in files()} == TOP


def test_config_is_importable_by_a_bare_python():
    assert (ROOT / "config/__init__.py").read_bytes() == b""


@pytest.mark.parametrize("pattern", [NOTES, SKIPS, MACHINES, REGISTRIES], ids=["notes", "skips", "machines", "hosts"])
def test_nothing_is_left_lying_about(pattern):
    found = [f"{name}: {match[0]}" for name, text in texts() if name != THIS for match in re.finditer(pattern, text)]
    assert found == []


def test_any_user_model_will_do():
    """People are named by `sideeffects.people.named`, kept by the model's own manager, and need no first name."""
    ours = ((name, text) for name, text in texts(".py", ".html") if not name.startswith("tests/"))
    found = [f"{name}: {match[0]}" for name, text in ours for match in re.finditer(USERS, text)]
    assert found == []


def test_files_are_short():
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in python_files()}
    long = {name: length for name, length in lengths.items() if length > LONGEST_FILE}
    assert len(long) <= (1 - SHARE) * len(lengths), long


def test_functions_are_short():
    long, count = [], 0
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                count += 1
                body = [part for part in node.body if not isinstance(getattr(part, "value", None), ast.Constant)]
                length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}: {node.name} has {length} lines")
    assert len(long) <= (1 - SHARE) * count, "\n".join(long)


def test_every_variable_that_is_read_stands_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    read = {
        name
        for file, text in texts(".py")
        if "/test_" not in file
        for name in re.findall(r"""(?:env\.\w+|environ(?:\.get)?)[(\[]"([A-Z][A-Z_]+)\"""", text)
    }
    ours = {name for name in read if name.startswith(("TAKEBACK_", "DATABASE_", "TEST_", "CHROMIUM"))} - {"TEST_TALLY"}
    assert ours
    assert {name for name in ours if f"`{name}`" not in readme} == set()


def test_compose_names_what_runs():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert set(services) == {"web", "worker", "beat", "database", "broker"}
    for name in ("web", "worker", "beat"):
        assert services[name]["environment"]["DATABASE_URL"].startswith("postgres://")


def test_ci_runs_the_test_command_and_nothing_cleverer():
    lines = (ROOT / ".ci/run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["python3 manage.py test"]
    assert "python3 manage.py test" in (ROOT / "README.md").read_text()
