"""What is wired once all apps are loaded?"""

import gc
from typing import Any

from django.apps import AppConfig
from django.db.backends.signals import connection_created

RARELY = 5_000  # new objects after which what is garbage among them is looked for; Python's 700 are a dozen rows


class ConfigConfig(AppConfig):
    """Brings the commands of this folder, and loads Celery late so that a bare Python can import `config`."""

    name = "config"

    def ready(self) -> None:
        """Load the Celery app, so that tasks bind to it and never to a broker on localhost; spare what takes time."""
        from config import celery  # noqa: F401, PLC0415  (loading it is the effect; at the top it would load too early)

        connection_created.connect(_wire)
        gc.freeze()  # what was loaded at the start stays
        gc.set_threshold(RARELY)


def _wire(*, connection: Any, **_: Any) -> None:
    """Read times quickly on a new connection to PostgreSQL."""
    if connection.vendor == "postgresql":
        from config.timestamps import read_quickly  # noqa: PLC0415  (with SQLite psycopg is not loaded)

        read_quickly(connection)
