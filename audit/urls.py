"""Which page of the log has which address?"""

from django.urls import path

from audit import proof_views, views

urlpatterns = [
    path("", views.search, name="audit-search"),
    path("records/<uuid:uid>", views.record, name="audit-record"),
    path("records/<uuid:uid>/story", proof_views.story, name="audit-story"),
    path("records/<uuid:uid>/receipt", proof_views.receipt, name="audit-receipt"),
    path("overview", proof_views.overview, name="audit-overview"),
    path("checkpoint", proof_views.checkpoint, name="audit-checkpoint"),
    path("key", proof_views.key, name="audit-key"),
    path("export", proof_views.export, name="audit-export"),
    path("check", proof_views.check, name="receipt-check"),
    path("verify_offline.py", proof_views.offline, name="offline-verifier"),
    path("verify", views.verify, name="audit-verify"),
    path("events", views.events, name="events"),
]
