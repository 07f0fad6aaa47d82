"""Run Takeback's commands; on a bare Python the first use makes `.venv` and goes on inside it."""

import os
import sys

from config import bootstrap

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    bootstrap.enter(sys.argv)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
