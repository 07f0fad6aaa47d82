"""Can the agent's client be copied out and run anywhere?"""

import ast
import subprocess
import sys

from tests.rules.house import ROOT

CLIENT = ROOT / "sideeffects" / "client.py"


def test_it_imports_the_standard_library_alone():
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(CLIENT.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert names <= sys.stdlib_module_names


def test_it_runs_alone_in_an_empty_folder(tmp_path):
    (tmp_path / "client.py").write_text(CLIENT.read_text())
    done = subprocess.run([sys.executable, "-I", "-S", "client.py"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
