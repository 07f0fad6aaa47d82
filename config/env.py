"""How is a setting read from the environment? Typed readers that refuse nonsense."""

import os
import secrets
from pathlib import Path


class BadSettingError(Exception):
    """A variable of the environment holds something that cannot be meant."""

    def __init__(self, name: str, expected: str) -> None:
        self.name = name
        super().__init__(f"{name}: {expected}")


def text(name: str, default: str = "") -> str:
    """Return the variable, or the default where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool = False) -> bool:
    """Return a yes or no; anything but 1/0, true/false, yes/no, on/off raises BadSettingError."""
    value = text(name).lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise BadSettingError(name, "expected 1 or 0")


def number(name: str, default: int, *, least: int = 0) -> int:
    """Return a whole number not below `least`; raises BadSettingError otherwise."""
    value = text(name)
    if not value:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise BadSettingError(name, f"expected a whole number of at least {least}")
    return int(value)


def words(name: str, default: list[str]) -> list[str]:
    """Return a comma-separated list without its blanks."""
    value = text(name)
    return [word.strip() for word in value.split(",") if word.strip()] if value else default


def folder(name: str, default: Path) -> Path:
    """Return a folder as an absolute path; it need not exist yet."""
    return Path(text(name, str(default))).expanduser().resolve()


def secret(name: str, kept_in: Path) -> str:
    """Return a secret from the environment, else from its file, which is made (mode 600) on first use."""
    if value := text(name):
        return value
    if not kept_in.exists():
        kept_in.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = kept_in.with_name(f"{kept_in.name}.{os.getpid()}")
        temporary.touch(mode=0o600)
        temporary.write_text(secrets.token_urlsafe(50))
        try:
            os.link(temporary, kept_in)  # the first process wins; the others read what it wrote
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return kept_in.read_text().strip()
