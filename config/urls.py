"""Which address leads where?"""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

from config import health, metrics, views
from plans import views_executions

handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.fault"

urlpatterns = [
    path("", include("sideeffects.urls")),
    path("audit/", include("audit.urls")),
    path("plans/", include("plans.urls")),
    path("console/approvals/", views_executions.console_approvals, name="console-approvals"),
    path("api/v1/", include("audit.urls_api")),
    path("api/v1/", include("sideeffects.urls_api")),
    path("api/v1/schema/", SpectacularJSONAPIView.as_view(), name="api-schema"),
    path("api/v1/docs/", views.ApiDocs.as_view(url_name="api-schema"), name="api-docs"),
    path("api/v1/", include("plans.urls_api")),
    path("login", views.LogIn.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("enter", views.enter, name="enter"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path(".well-known/jwks.json", health.jwks, name="jwks"),
    path("readyz", health.readyz, name="readyz"),
    path("help", views.help_page, name="help"),
    path("admin/", admin.site.urls),
]
