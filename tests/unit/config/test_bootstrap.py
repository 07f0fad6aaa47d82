"""Does `manage.py` set itself up once, again when it must, and never half?"""

import importlib.util
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from config import bootstrap

LINES = "django==5.2.19 \\\n    --hash=sha256:00\ntzdata==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A clone of nothing, whose installation only leaves a trace."""
    for name in ("pyproject.toml", "requirements.lock", "requirements-test.lock"):
        (tmp_path / name).write_text(LINES)
    venv = tmp_path / ".venv"
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "VENV", venv)
    monkeypatch.setattr(bootstrap, "STAMP", venv / "takeback.json")
    monkeypatch.setattr(bootstrap, "OURS", venv / "made-by-takeback")
    monkeypatch.setattr(bootstrap, "commands", lambda lock: [["install", lock.name]])
    return tmp_path


@pytest.fixture
def installed(house, monkeypatch):
    """What was installed, in order; the interpreter of the environment appears as it would."""
    done: list[str] = []

    def run(command, **_options):
        python = bootstrap.python_of_venv()
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        done.append(command[1])

    monkeypatch.setattr(subprocess, "run", run)
    return done


def test_what_is_whole_is_left_alone(installed):
    bootstrap.make_environment(set())
    bootstrap.make_environment(set())
    assert installed == ["requirements.lock"]


def test_an_extra_once_installed_stays(installed):
    bootstrap.make_environment({"test"})
    (bootstrap.ROOT / "requirements-test.lock").write_text("django==5.2.20\n")
    bootstrap.make_environment(set())
    assert installed == ["requirements-test.lock", "requirements-test.lock"]
    assert bootstrap.is_whole({"test"})


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_changed_file_installs_again_in_the_same_environment(installed, name):
    bootstrap.make_environment(set())
    (bootstrap.VENV / "kept").touch()
    (bootstrap.ROOT / name).write_text("other")
    bootstrap.make_environment(set())
    assert len(installed) == 2
    assert (bootstrap.VENV / "kept").exists()


def test_an_installation_cut_off_counts_for_nothing_and_is_made_anew(installed, monkeypatch):
    whole = subprocess.run

    def cut_off(command, **options):
        whole(command, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", cut_off)
    with pytest.raises(KeyboardInterrupt):
        bootstrap.make_environment(set())
    assert not bootstrap.is_whole(set())
    (bootstrap.VENV / "half").touch()
    monkeypatch.setattr(subprocess, "run", whole)
    bootstrap.make_environment(set())
    assert bootstrap.is_whole(set())
    assert not (bootstrap.VENV / "half").exists()


def test_another_minor_version_of_python_makes_it_anew(installed):
    bootstrap.make_environment(set())
    (bootstrap.VENV / "old").touch()
    stamp = json.loads(bootstrap.STAMP.read_text())
    bootstrap.STAMP.write_text(json.dumps(stamp | {"python": "cpython-3.10"}))
    bootstrap.make_environment(set())
    assert not (bootstrap.VENV / "old").exists()


def test_somebody_elses_environment_is_installed_into_and_never_removed(installed):
    bootstrap.VENV.mkdir()
    (bootstrap.VENV / "theirs").touch()
    bootstrap.make_environment(set())
    assert (bootstrap.VENV / "theirs").exists()
    assert bootstrap.is_whole(set())


def test_a_failed_installation_shows_why(house, monkeypatch, capsys):
    def fail(command, **_options):
        raise subprocess.CalledProcessError(1, command, "", "no such host")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(bootstrap.SetupError, match="starts anew"):
        bootstrap.make_environment(set())
    assert "no such host" in capsys.readouterr().err


def test_an_environment_with_the_locked_versions_is_left_alone(house, monkeypatch):
    monkeypatch.setattr(metadata, "version", {"django": "5.2.19"}.__getitem__)
    monkeypatch.setattr(metadata, "PackageNotFoundError", KeyError)
    assert bootstrap.has_what_is_locked(house / "requirements.lock")


@pytest.mark.parametrize("versions", [{}, {"django": "5.2.18"}, {"django": "5.2.19", "tzdata": "0.9"}])
def test_an_environment_with_other_versions_is_not(house, monkeypatch, versions):
    monkeypatch.setattr(metadata, "version", versions.__getitem__)
    monkeypatch.setattr(metadata, "PackageNotFoundError", KeyError)
    assert not bootstrap.has_what_is_locked(house / "requirements.lock")


@pytest.mark.parametrize("words", [["--data", "x"], ["--data=x"]])
@pytest.mark.parametrize("place", [1, 2])
def test_data_is_taken_out_of_any_command(monkeypatch, tmp_path, words, place):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAKEBACK_DATA", "")
    argv = ["manage.py", "doctor", "--json"]
    argv[place:place] = words
    bootstrap.take_data_folder(argv)
    assert argv == ["manage.py", "doctor", "--json"]
    assert os.environ["TAKEBACK_DATA"] == str(tmp_path / "x")


@pytest.mark.parametrize("words", [["--data"], ["--data="], ["--data", "--json"]])
def test_data_without_a_folder_is_refused(words):
    with pytest.raises(bootstrap.SetupError, match="--data DIR"):
        bootstrap.take_data_folder(["manage.py", "up", *words])


def test_without_uv_and_pip_one_line_says_what_to_install(house, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(bootstrap.SetupError, match="uv, or pip") as raised:
        bootstrap.by_pip(fresh=True)
    assert "\n" not in str(raised.value)


def test_two_at_once_install_one_after_the_other(house):
    program = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from config import bootstrap;"
        "bootstrap.ROOT = pathlib.Path(sys.argv[2]); trace = bootstrap.ROOT / 'trace'\n"
        "with bootstrap.locked(), trace.open('a') as file:\n"
        "    for _ in range(200): print(sys.argv[3], file=file, flush=True)\n"
    )
    source = str(Path(bootstrap.__file__).parent.parent)
    both = [subprocess.Popen([sys.executable, "-c", program, source, str(house), name]) for name in "ab"]
    assert [process.wait(30) for process in both] == [0, 0]
    lines = (house / "trace").read_text().split()
    assert lines in ([*"a" * 200, *"b" * 200], [*"b" * 200, *"a" * 200])


@pytest.mark.parametrize(("command", "keeps"), [("test", True), ("check", False)])
def test_only_the_tests_keep_what_python_compiled_where_nobody_wants_it_kept(house, monkeypatch, command, keeps):
    seen: list[list[str]] = []
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(bootstrap, "become", seen.append)
    monkeypatch.chdir(house)
    monkeypatch.setattr(bootstrap, "has_what_is_locked", lambda lock: True)
    bootstrap.enter(["manage.py", command])
    assert sys.dont_write_bytecode is not keeps
    assert ("PYTHONDONTWRITEBYTECODE" not in os.environ) is keeps
    assert bool(seen) is keeps
