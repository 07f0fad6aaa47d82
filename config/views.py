"""Which pages belong to no part: signing in, entering the demonstration, help?"""

from datetime import timedelta
from typing import Any

from axes.helpers import get_cool_off
from django.contrib.auth import get_user_model, login
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from drf_spectacular.views import SpectacularSwaggerSplitView

from config import errors, glossary
from config.forms import LogInForm, demo_people, may_enter


class ApiDocs(SpectacularSwaggerSplitView):
    """Shows the API in a browser; its script has an address of its own, since no page runs anything inline."""

    template_name = "api_docs.html"


class LogIn(LoginView):
    """Asks for name and password; django-axes counts the failures."""

    form_class = LogInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Tell the page whether the demonstration may be entered."""
        return super().get_context_data(may_enter=may_enter(self.request), **kwargs)


@never_cache
def locked_out(request: HttpRequest, _response: object, _credentials: object) -> HttpResponse:
    """Answer 429 in place of the log-in, for names that exist and names that do not."""
    pause = get_cool_off(request) or timedelta(0)
    context = {"minutes": -(-int(pause.total_seconds()) // 60)}
    headers = {"Retry-After": str(int(pause.total_seconds()))}
    return HttpResponse(render(request, "registration/locked.html", context).content, status=429, headers=headers)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest) -> HttpResponse:
    """Sign in as a made-up person without a password; elsewhere than in the demonstration there is no such page."""
    if not may_enter(request):
        raise Http404
    people = demo_people().filter(is_superuser=False)
    if request.method != "POST":
        return render(
            request, "registration/enter.html", {"people": people.prefetch_related("takeback_roles").order_by("pk")}
        )
    chosen = get_object_or_404(people, **{get_user_model().USERNAME_FIELD: request.POST.get("person", "")})
    login(request, chosen, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("actions")


def help_page(request: HttpRequest) -> HttpResponse:
    """Explain the words, the keys, and every refusal."""
    return render(request, "help.html", {"words": glossary.WORDS, "refusals": errors.refusals()})
