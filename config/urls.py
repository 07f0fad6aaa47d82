"""Which address leads where?"""

from django.urls import include, path

urlpatterns = [
    path("", include("sideeffects.urls")),
    path("audit/", include("audit.urls")),
]
