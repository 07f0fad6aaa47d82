"""How is a time read that PostgreSQL sends? By the parser of Python that is written in C; psycopg's is not."""

from datetime import UTC, datetime
from typing import Any

from psycopg.types.datetime import TimestamptzLoader


class Timestamps(TimestamptzLoader):
    """Reads times as they come in UTC; what Python has no time for is refused as before."""

    timezone = UTC  # Django compares it with the connection's

    def load(self, data: Any) -> datetime:
        """Return the time."""
        try:
            return datetime.fromisoformat(str(data, "ascii"))
        except ValueError:
            return super().load(data).replace(tzinfo=UTC)


def read_quickly(connection: Any) -> None:
    """Read times so on a new connection."""
    if connection.timezone is UTC:
        connection.connection.adapters.register_loader("timestamptz", Timestamps)
