"""When did the background work last show that it lives?"""

from django.db import models


class Heartbeat(models.Model):
    """One row a part: `beat` stamps it when it sends, `worker` when it receives. Mutable; nothing but a time."""

    name = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.at:%Y-%m-%d %H:%M:%S}"
