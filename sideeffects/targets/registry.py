"""Which adapter serves which type of local object?"""

from sideeffects.targets.base import LocalAdapter

ADAPTERS: dict[str, LocalAdapter] = {}


class NoAdapterError(Exception):
    """No adapter is registered for a type of local object."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        super().__init__(f"Nothing here knows how to take back a local object of type {type_}.")


class AdapterRegisteredTwiceError(Exception):
    """Two adapters claim one type."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        super().__init__(f"Two adapters serve the type {type_}.")


def register(adapter: type[LocalAdapter]) -> type[LocalAdapter]:
    """Make an adapter class known for its type; a decorator. Raises AdapterRegisteredTwiceError."""
    if adapter.type in ADAPTERS:
        raise AdapterRegisteredTwiceError(adapter.type)
    ADAPTERS[adapter.type] = adapter()
    return adapter


def adapter_for(type_: str) -> LocalAdapter:
    """Return the adapter of a type; raises NoAdapterError."""
    try:
        return ADAPTERS[type_]
    except KeyError:
        raise NoAdapterError(type_) from None
