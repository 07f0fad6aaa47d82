"""What does taking back many actions cost here, beside one bare UPDATE of their rows and beside a call for each?"""

from collections.abc import Iterator

from sideeffects.bench import batches
from sideeffects.bench.place import Place


def revoking(place: Place) -> Iterator[dict[str, object]]:
    """Measure batches of many sizes, the same beside many other effects, and the memory of a large one."""
    yield from batches.sizes(place)
    yield from batches.beside_others(place)
    yield from batches.memory(place)
