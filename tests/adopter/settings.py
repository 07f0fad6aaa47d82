"""What does a deployment look like whose app brings its own models and its own people? Two variables say it."""

import os

os.environ["TAKEBACK_APPS"] = os.environ.get("TAKEBACK_APPS") or "tests.adopter"
os.environ["TAKEBACK_USER_MODEL"] = "adopter.Member"

from config.settings import *  # noqa: F403  (after the variables, since it reads them)
