"""Which part of the log's API has which address? Included below /api/v1/."""

from django.urls import path

from audit import api, api_proof

urlpatterns = [
    path("audit/records", api.Records.as_view(), name="api-audit-records"),
    path("audit/records/<uuid:uid>", api.OneRecord.as_view(), name="api-audit-record"),
    path("audit/records/<uuid:uid>/receipt", api_proof.Receipt.as_view(), name="api-audit-receipt"),
    path("audit/checkpoint", api_proof.Checkpoint.as_view(), name="api-audit-checkpoint"),
    path("audit/export", api_proof.Export.as_view(), name="api-audit-export"),
    path("audit/verify", api.Verify.as_view(), name="api-audit-verify"),
]
