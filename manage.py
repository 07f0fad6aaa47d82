"""Run Takeback's commands; on a bare Python the first use makes `.venv` and goes on inside it."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python reaches this line, and no file with newer grammar)
    sys.exit("Takeback needs Python 3.11 or newer; this is " + sys.version.split()[0] + " (" + sys.executable + ").")

from config import bootstrap

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    bootstrap.enter(sys.argv)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
