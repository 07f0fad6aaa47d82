"""Which address of this app leads where?"""

from django.apps import apps
from django.urls import URLPattern, URLResolver, include, path

from sideeffects.console import actions as console_actions
from sideeffects.console import agents as console_agents
from sideeffects.console import batches as console_batches
from sideeffects.console import conflicts as console_conflicts
from sideeffects.console import people as console_people
from sideeffects.console import targets as console_targets
from sideeffects.console import tools as console_tools
from sideeffects.console import unresolved as console_unresolved
from sideeffects.views import actions, batches, conflicts, fences, group, requests, trash
from sideeffects.views import agents as my_agents

urlpatterns: list[URLPattern | URLResolver] = [
    path("", actions.page, name="actions"),
    path("groups/<uuid:group>/", group.page, name="group"),
    path("groups/<uuid:group>/revoke", group.revoke, name="group-revoke"),
    path("groups/<uuid:group>/restore", group.restore, name="group-restore"),
    path("groups/<uuid:group>/again", requests.again, name="group-again"),
    path("groups/<uuid:group>/attest", requests.attest, name="group-attest"),
    path("groups/<uuid:group>/fence", fences.put, name="group-fence"),
    path("groups/<uuid:group>/fence/lift", fences.lift, name="group-fence-lift"),
    path("conflicts/<uuid:conflict>/resolve", conflicts.resolve, name="conflict-resolve"),
    path("batches/", batches.page, name="batches"),
    path("batches/new", batches.new, name="batch-new"),
    path("batches/<uuid:batch>/", batches.one, name="batch"),
    path("batches/<uuid:batch>/items.csv", batches.table, name="batch-table"),
    path("batches/<uuid:batch>/stop", batches.stop, name="batch-stop"),
    path("batches/<uuid:batch>/resume", batches.resume, name="batch-resume"),
    path("batches/<uuid:batch>/retry", batches.retry, name="batch-retry"),
    path("batches/<uuid:batch>/restore", batches.restore, name="batch-restore"),
    path("trash/", trash.page, name="trash"),
    path("agents/", my_agents.page, name="my-agents"),
    path("agents/<uuid:token>/withdraw", my_agents.withdraw, name="my-token-withdraw"),
    path("console/", console_actions.page, name="console-actions"),
    path("console/batches/", console_batches.page, name="console-batches"),
    path("console/conflicts/", console_conflicts.page, name="console-conflicts"),
    path("console/unresolved/", console_unresolved.page, name="console-unresolved"),
    path("console/targets/", console_targets.page, name="console-targets"),
    path("console/targets/new", console_targets.new, name="console-target-new"),
    path("console/targets/<str:target>/", console_targets.change, name="console-target"),
    path("console/targets/<str:target>/switch", console_targets.switch, name="console-target-switch"),
    path("console/targets/<str:target>/resume", console_targets.resume, name="console-target-resume"),
    path("console/tools/", console_tools.page, name="console-tools"),
    path("console/tools/new", console_tools.new, name="console-tool-new"),
    path("console/tools/<path:tool>/", console_tools.change, name="console-tool"),
    path("console/agents/", console_agents.page, name="console-agents"),
    path("console/agents/<uuid:token>/withdraw", console_agents.withdraw, name="console-token-withdraw"),
    path("console/people/", console_people.page, name="console-people"),
]
if apps.is_installed("sideeffects.workspace"):  # an adopter may leave the sample out
    urlpatterns.append(path("workspace/", include("sideeffects.workspace.urls")))
