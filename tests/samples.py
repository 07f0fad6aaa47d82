"""Which local objects can the contract of adapters be tried on? One sample a type, of whichever apps are installed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.apps import apps

from sideeffects.targets.base import LocalAdapter
from sideeffects.targets.registry import adapter_for

MODULES = {"sideeffects.workspace": "tests.workspace", "tests.adopter": "tests.adopter.samples"}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """How a test makes and changes objects of one type, as the app's own code and its tools do."""

    type: str
    text: str  # the field that `write` and `edit` change
    make: Callable[[Any, str], Any]  # owner, text: a row, with its history
    write: Callable[[Any, str], None]  # row, text: the app's own code changes it, with its history
    edit: Callable[[Any, str], None]  # row, text: changed past its history
    give: Callable[[Any, Any], None]  # row, person: whose it is from now on
    erase: Callable[[Any], None]  # gone for good, with its history
    create: Callable[[str], tuple[str, dict[str, Any]]]  # text: tool and arguments
    change: Callable[[str, str], tuple[str, dict[str, Any]]] | None = None  # id, text
    delete: Callable[[str], tuple[str, dict[str, Any]]] | None = None  # id

    @property
    def adapter(self) -> LocalAdapter:
        """Return the adapter under test."""
        return adapter_for(self.type)


def samples() -> list[Sample]:
    """Return the samples of the apps that are installed here."""
    return [
        sample for app, module in MODULES.items() if apps.is_installed(app) for sample in import_module(module).SAMPLES
    ]
