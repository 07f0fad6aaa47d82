"""Which page of plans has which address? Included below /plans/."""

from django.urls import path

from plans import views

urlpatterns = [
    path("", views.page, name="plans"),
    path("new", views.propose, name="plan-propose"),
    path("<uuid:plan>", views.plan, name="plan"),
]
