"""How does `manage.py` come to its dependencies on a bare Python? Standard library only."""


def enter(argv: list[str]) -> None:
    """Make `.venv` when needed and go on inside it."""
