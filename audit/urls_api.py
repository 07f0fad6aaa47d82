"""Which part of the log's API has which address? Included below /api/v1/."""

from django.urls import path

from audit import api

urlpatterns = [
    path("audit/records", api.Records.as_view(), name="api-audit-records"),
    path("audit/records/<uuid:uid>", api.OneRecord.as_view(), name="api-audit-record"),
    path("audit/verify", api.Verify.as_view(), name="api-audit-verify"),
]
