"""Are times that PostgreSQL sends read as they were before, only quicker?"""

from datetime import UTC, datetime

import pytest
from django.db import DataError, connection

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 30, 12, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 0, 0, 120_000, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_a_time_is_read_as_it_was_written(moment):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz, NULL::timestamptz", [moment])
        assert cursor.fetchone() == (moment, None)
        cursor.execute("SELECT %s::timestamptz", [moment])
        assert cursor.fetchone()[0].tzinfo is UTC


@pytest.mark.parametrize("moment", ["infinity", "-infinity", "0044-03-15 BC"])
def test_what_python_has_no_time_for_is_refused(moment):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [moment])
        with pytest.raises(DataError):
            cursor.fetchone()
