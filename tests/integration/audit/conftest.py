"""What do tests of the log share? A place outside the database that is their own."""

import pytest


@pytest.fixture(autouse=True)
def _outside(settings, tmp_path):
    """Keep keys, memory and checkpoints of each test apart."""
    settings.DATA_DIR = tmp_path / "data"
    settings.CHECKPOINT_DIR = tmp_path / "published"
