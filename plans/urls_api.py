"""Which part of the plans' API has which address? Included below /api/v1/."""

from django.urls import path

from plans import api, api_executions

STEP = "executions/<uuid:execution>/steps/<path:step>"  # an author's id may hold anything

urlpatterns = [
    path("plans/validate", api.Validate.as_view(), name="api-plan-validate"),
    path("plans", api.Plans.as_view(), name="api-plans"),
    path("plans/<uuid:plan>", api.OnePlan.as_view(), name="api-plan"),
    path("plans/<uuid:plan>/executions", api_executions.Executions.as_view(), name="api-executions"),
    path("executions/<uuid:execution>", api_executions.OneExecution.as_view(), name="api-execution"),
    path("executions/<uuid:execution>/rollback", api_executions.Rollback.as_view(), name="api-execution-rollback"),
    path("executions/<uuid:execution>/stop", api_executions.Stop.as_view(), name="api-execution-stop"),
    path(f"{STEP}/begin", api_executions.Begin.as_view(), name="api-step-begin"),
    path(f"{STEP}/complete", api_executions.Complete.as_view(), name="api-step-complete"),
    path(f"{STEP}/fail", api_executions.Fail.as_view(), name="api-step-fail"),
    path(f"{STEP}/approve", api_executions.Approve.as_view(), name="api-step-approve"),
    path(f"{STEP}/decline", api_executions.Decline.as_view(), name="api-step-decline"),
]
