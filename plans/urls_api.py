"""Which part of the plans' API has which address? Included below /api/v1/."""

from django.urls import path

from plans import api

urlpatterns = [
    path("plans/validate", api.Validate.as_view(), name="api-plan-validate"),
    path("plans", api.Plans.as_view(), name="api-plans"),
    path("plans/<uuid:plan>", api.OnePlan.as_view(), name="api-plan"),
]
