"""Which address of this app leads where?"""

from django.urls import URLPattern, URLResolver, path

from sideeffects.console import agents as console_agents
from sideeffects.console import people as console_people
from sideeffects.views import agents as my_agents

urlpatterns: list[URLPattern | URLResolver] = [
    path("agents/", my_agents.page, name="my-agents"),
    path("agents/<uuid:token>/withdraw", my_agents.withdraw, name="my-token-withdraw"),
    path("console/agents/", console_agents.page, name="console-agents"),
    path("console/agents/<uuid:token>/withdraw", console_agents.withdraw, name="console-token-withdraw"),
    path("console/people/", console_people.page, name="console-people"),
]
