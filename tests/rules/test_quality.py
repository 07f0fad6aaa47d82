"""Do the linters, the types and the import contracts hold? The same commands that a person runs."""

import os
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader

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


def test_a_squashed_migration_makes_what_those_it_replaces_made():
    """And so both ways lead to one schema: of a new database, and of one that went step by step."""
    squashed = MigrationLoader(None)
    replaced = {key for migration in squashed.disk_migrations.values() for key in migration.replaces}
    apps = {app for app, _ in replaced}
    by_steps = MigrationLoader(None, replace_migrations=False)
    ends = [node for node in by_steps.graph.leaf_nodes() if not by_steps.graph.nodes[node].replaces]
    differences = MigrationAutodetector(by_steps.project_state(ends), squashed.project_state())
    assert apps == {"audit", "sideeffects", "plans", "workspace"}
    assert differences.changes(squashed.graph) == {}
