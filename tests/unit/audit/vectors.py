"""Which public vectors are tested against? Those shared beside the repository where they are, and our few copies."""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "vectors"


@cache
def own() -> dict[str, Any]:
    """Return the copies that are part of the repository."""
    text = (ROOT / "tests/data/proof/vectors.json").read_text(encoding="utf-8")
    copies: dict[str, Any] = json.loads(text)
    return copies


def of(name: str, shared: str) -> list[dict[str, Any]]:
    """Return our copies of these vectors, and all that are shared."""
    file = SHARED / shared
    more: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["vectors"] if file.exists() else []
    return [*own()[name], *more]


def raw(text: str | None) -> bytes:
    """Return the bytes of a base64 text."""
    return base64.b64decode(text or "")
