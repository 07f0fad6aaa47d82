"""Does an app with its own soft delete, its own history and its own people pass what the workspace passes?"""

import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.processes import ROOT

SUITE = ("tests/integration/adapters/test_contract.py", "tests/integration/adapters/test_whole_path.py")
PEOPLE = "tests/adopter/check_people.py"


@pytest.mark.both
def test_the_help_desk_joins_by_two_variables_and_an_adapter_class_a_model(tmp_path):
    """Its user model is chosen when Django starts, so the suite runs in a process of its own."""
    names = [name for name in os.environ if not name.startswith(("PYTEST_", "TEST_", "TAKEBACK_"))]
    beside = os.environ["DATABASE_URL"].rpartition("/")[0] + "/help_desk"
    database = f"sqlite:///{tmp_path}/help-desk.sqlite3" if connection.vendor == "sqlite" else beside
    words = ["-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--ds=tests.adopter.settings"]
    done = subprocess.run(
        [sys.executable, *words, *SUITE, PEOPLE],
        cwd=ROOT,
        env={name: os.environ[name] for name in names}
        | {"TEST_DATABASE_URL": database, "TEST_REDIS_URL": os.environ["TAKEBACK_BROKER"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert " passed" in done.stdout
