"""Is every model declared mutable or append-only, and does the database hold to it?"""

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from audit.models import Checkpoint, Record, Seal, Subject, Tile
from tests.entries import a_row_of_each

APPEND_ONLY = {"audit.record", "audit.subject", "audit.seal", "audit.tile", "audit.checkpoint"}
MUTABLE = {
    "audit.head",
    "audit.unsealed",
    "plans.agentkey",
    "plans.approval",
    "plans.decision",
    "plans.execution",
    "plans.plansubmission",
    "plans.steprun",
    "sideeffects.above",
    "sideeffects.agent",
    "sideeffects.agenttoken",
    "sideeffects.attempt",
    "sideeffects.batch",
    "sideeffects.batchitem",
    "sideeffects.callback",
    "sideeffects.declaration",
    "sideeffects.effect",
    "sideeffects.fence",
    "sideeffects.group",
    "sideeffects.heartbeat",
    "sideeffects.memberoutcome",
    "sideeffects.notice",
    "sideeffects.request",
    "sideeffects.revocation",
    "sideeffects.role",
    "sideeffects.signingkey",
    "sideeffects.target",
    "sideeffects.tool",
    "sideeffects.toolversion",
    "workspace.historicalnote",
    "workspace.historicalproject",
    "workspace.historicaltask",
    "workspace.note",
    "workspace.project",
    "workspace.task",
}
OURS = {"audit", "sideeffects", "workspace", "plans", "config"}


def test_every_model_is_declared_one_or_the_other():
    models = {model._meta.label_lower for model in apps.get_models() if model._meta.app_label in OURS}
    assert models == APPEND_ONLY | MUTABLE


def test_the_log_refers_to_nothing_outside():
    for model in apps.get_app_config("audit").get_models():
        for field in model._meta.get_fields():
            if field.is_relation and field.related_model is not None and field.concrete:
                assert field.related_model._meta.app_label == "audit"


@pytest.mark.django_db
@pytest.mark.both
@pytest.mark.parametrize("model", [Record, Subject, Seal, Tile, Checkpoint])
@pytest.mark.parametrize("attack", ["update", "delete", "raw delete", "truncate"])
def test_append_only_tables_refuse_every_attack(model, attack):
    a_row_of_each(1)
    count = model.objects.count()
    assert count
    table = model._meta.db_table
    attacks = {
        "update": lambda: _execute(f"UPDATE {table} SET id = id"),
        "delete": lambda: model.objects.all()._raw_delete(model.objects.db),
        "raw delete": lambda: _execute(f"DELETE FROM {table}"),
        "truncate": lambda: _execute(f"TRUNCATE {table} CASCADE"),
    }
    with pytest.raises(DatabaseError), transaction.atomic():
        attacks[attack]()
    assert model.objects.count() == count


def _execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
