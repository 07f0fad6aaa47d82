"""Do the linters, the types and the import contracts hold? The same commands that a person runs."""

import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from tests.rules.house import ROOT

CONTRACTS = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
COMMANDS = {
    "ruff finds nothing": ["-m", "ruff", "check", "."],
    "every file is formatted": ["-m", "ruff", "format", "--check", "."],
    "mypy finds nothing": ["-m", "mypy", "."],
    "imports run one way": ["-c", CONTRACTS, "--no-logo"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_the_code_is_clean(command):
    plain = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "TAKEBACK_BROKER"}}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False, env=plain)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
