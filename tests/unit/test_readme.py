"""Does README say how to call the tools that run here?"""

from pathlib import Path

from sideeffects.tools import REGISTRY
from sideeffects.workspace import tools

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_every_tool_of_the_workspace_stands_there_with_its_arguments():
    own = {name: tool for name, tool in REGISTRY.items() if getattr(tool.function, "__module__", "") == tools.__name__}
    assert len(own) > 5
    for name, tool in own.items():
        [line] = [line for line in README.splitlines() if line.startswith(f"| `{name}`")]
        assert tool.arguments is not None
        assert [field for field in tool.arguments().fields if f"`{field}" not in line] == []
