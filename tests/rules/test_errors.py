"""Has every refusal its place in the one table?"""

import importlib
import pkgutil

import sideeffects.services
import sideeffects.targets
from config import errors
from sideeffects import actors, declarations, policies, tools, transitions
from sideeffects.api import parsers

# Mistakes of whoever programs an app, met at the start of a process and never by an asker.
AT_START = {"ToolRegisteredTwiceError", "AdapterRegisteredTwiceError"}


def modules():
    packages = (sideeffects.services, sideeffects.targets)
    names = [
        name for package in packages for _, name, _ in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    return [*map(importlib.import_module, names), actors, declarations, parsers, policies, tools, transitions]


def refusals():
    return {
        value
        for module in modules()
        for name, value in vars(module).items()
        if name.endswith("Error") and isinstance(value, type) and value.__module__ == module.__name__
    }


def test_every_refusal_has_its_answer():
    classes = refusals()
    assert len(classes) > 20
    assert {cls.__name__ for cls in classes if cls not in errors.TABLE} == AT_START


def test_no_name_stands_for_two_answers():
    said: dict[str, set[int]] = {}
    for refusal in errors.TABLE.values():
        said.setdefault(refusal.slug, set()).add(refusal.status)
    assert {slug: statuses for slug, statuses in said.items() if len(statuses) > 1} == {}
