"""How fast is it here, and beside what?"""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.module_loading import import_string

from config.benches import BENCHES


class Command(BaseCommand):
    """Measures, one figure a line."""

    help = "Measure, one figure a line: its value, what it is measured against in the same run, and their ratio."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Read which figures, and how to print them."""
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHES)}; all without")
        parser.add_argument("--json", action="store_true", help="one object a line")

    def handle(self, **options: Any) -> None:
        """Print each figure as soon as it is known."""
        unknown = set(options["names"]) - set(BENCHES)
        if unknown:
            self.stderr.write(f"No such bench: {', '.join(sorted(unknown))}. There are: {', '.join(BENCHES)}.")
            raise SystemExit(2)
        for name in options["names"] or BENCHES:
            for figure in import_string(BENCHES[name])():
                self.stdout.write(json.dumps({"bench": name, **figure}) if options["json"] else _line(name, figure))


def _line(name: str, figure: dict[str, Any]) -> str:
    beside = f"{figure['limit']:>12} {figure['unit']}  x{figure['ratio']}" if figure["limit"] is not None else ""
    return f"{name:<12} {figure['case']:<40} {figure['value']:>12} {figure['unit']}  {beside}"
