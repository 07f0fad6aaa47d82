"""Which address of the sample workspace leads where?"""

from django.urls import path

from sideeffects.workspace import views

urlpatterns = [path("", views.page, name="workspace")]
