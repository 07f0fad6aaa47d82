"""Which part of the API of side effects has which address? Included below /api/v1/."""

from django.urls import path

from sideeffects.api import batches, conflicts, effects, fences, groups, requests, tool_calls, tools, trash, unresolved

urlpatterns = [
    path("tool-calls", tool_calls.ToolCalls.as_view(), name="api-tool-calls"),
    path("tool-calls/<uuid:group>/land", tool_calls.Land.as_view(), name="api-tool-call-land"),
    path("tool-calls/<uuid:group>/fail", tool_calls.Fail.as_view(), name="api-tool-call-fail"),
    path("tool-calls/<uuid:group>/lose", tool_calls.Lose.as_view(), name="api-tool-call-lose"),
    path("groups", groups.Groups.as_view(), name="api-groups"),
    path("groups/<uuid:group>", groups.OneGroup.as_view(), name="api-group"),
    path("groups/<uuid:group>/revoke", groups.Revoke.as_view(), name="api-group-revoke"),
    path("groups/<uuid:group>/restore", groups.Restore.as_view(), name="api-group-restore"),
    path("groups/<uuid:group>/fence", fences.GroupFence.as_view(), name="api-group-fence"),
    path("conflicts/<uuid:conflict>/resolve", conflicts.Resolve.as_view(), name="api-conflict-resolve"),
    path("effects", effects.Effects.as_view(), name="api-effects"),
    path("effects/<uuid:effect>", effects.OneEffect.as_view(), name="api-effect"),
    path("effects/<uuid:effect>/revoke", effects.RevokeEffect.as_view(), name="api-effect-revoke"),
    path("batches", batches.Batches.as_view(), name="api-batches"),
    path("batches/<uuid:batch>", batches.OneBatch.as_view(), name="api-batch"),
    path("batches/<uuid:batch>/items", batches.Items.as_view(), name="api-batch-items"),
    path("batches/<uuid:batch>/stop", batches.Stop.as_view(), name="api-batch-stop"),
    path("batches/<uuid:batch>/resume", batches.Resume.as_view(), name="api-batch-resume"),
    path("batches/<uuid:batch>/retry", batches.RetryBatch.as_view(), name="api-batch-retry"),
    path("batches/<uuid:batch>/restore", batches.RestoreBatch.as_view(), name="api-batch-restore"),
    path("trash", trash.Trash.as_view(), name="api-trash"),
    path("requests/<uuid:row>", requests.OneRequest.as_view(), name="api-request"),
    path("requests/<uuid:row>/retry", requests.Retry.as_view(), name="api-request-retry"),
    path("requests/<uuid:row>/attest", requests.Attest.as_view(), name="api-request-attest"),
    path("callbacks/<str:target>", requests.Callbacks.as_view(), name="api-callback"),
    path("unresolved", unresolved.Unresolved.as_view(), name="api-unresolved"),
    path("tools", tools.Tools.as_view(), name="api-tools"),
    path("targets", tools.Targets.as_view(), name="api-targets"),
]
