"""Which page of the log has which address?"""

from django.urls import path

from audit import views

urlpatterns = [
    path("", views.search, name="audit-search"),
    path("records/<uuid:uid>", views.record, name="audit-record"),
    path("verify", views.verify, name="audit-verify"),
    path("events", views.events, name="events"),
]
