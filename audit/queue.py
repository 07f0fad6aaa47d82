"""Which records wait for their place? In plain SQL, as the sealer asks it several times a second.

Each is looked up by its key, never joined: with statistics of another hour PostgreSQL would go through all records of
the log to find the few that wait.
"""

from django.db import connection

from audit.models import Unsealed

_LOG = "(SELECT r.log FROM audit_record r WHERE r.id = u.record_id)"
_LOGS = f"SELECT DISTINCT {_LOG} AS log FROM audit_unsealed u ORDER BY log"  # noqa: S608  (our own constants)
_WAITING = (
    "SELECT u.record_id, (SELECT r.leaf_hash FROM audit_record r WHERE r.id = u.record_id),"  # noqa: S608  (as above)
    " (SELECT p.seq FROM audit_seal p WHERE p.record_id = u.record_id)"
    f" FROM audit_unsealed u WHERE {_LOG} = %s ORDER BY u.record_id LIMIT %s"
)


def logs() -> list[str]:
    """Return the logs of which something waits."""
    with connection.cursor() as cursor:
        cursor.execute(_LOGS)
        return [log for (log,) in cursor.fetchall()]


def waiting(log: str, *, most: int) -> list[tuple[int, str, int | None]]:
    """Return the first that wait: the record's key, its leaf hash, and its place where it was given one already."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [log, most])
        return [(record, leaf, place) for record, leaf, place in cursor.fetchall()]


def remove(records: list[int]) -> None:
    """Take records out."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM audit_unsealed WHERE record_id = ANY(%s)", [records])
    else:
        Unsealed.objects.filter(record_id__in=records).delete()
