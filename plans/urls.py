"""Which page of plans and their executions has which address? Included below /plans/."""

from django.urls import path

from plans import views, views_executions

urlpatterns = [
    path("", views.page, name="plans"),
    path("new", views.propose, name="plan-propose"),
    path("executions/", views_executions.page, name="executions"),
    path("executions/approvals/", views_executions.approvals, name="approvals"),
    path("executions/<uuid:execution>/", views_executions.execution, name="execution"),
    path("executions/<uuid:execution>/rollback", views_executions.roll_back, name="execution-rollback"),
    path("executions/<uuid:execution>/stop", views_executions.stop, name="execution-stop"),
    path("executions/<uuid:execution>/steps/<path:step>/decide", views_executions.decide, name="execution-decide"),
    path("<uuid:plan>", views.plan, name="plan"),
]
