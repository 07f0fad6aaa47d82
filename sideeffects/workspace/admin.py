"""What may Django's own admin show of the sample workspace? Everything to look at, nothing to change."""

from django.contrib import admin

from sideeffects.admin import ReadOnly
from sideeffects.workspace.models import Note, Project, Task

for model in (Project, Task, Note):
    admin.site.register(model, ReadOnly)
