"""Does what lies in the trash leave it on its date, announced, on the log, and held where something is open?"""

import pytest
from django.core import mail

from sideeffects.models import Declaration, Effect, Notice, Revocation
from sideeffects.presenters import views_of
from sideeffects.services import notices, purge
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import PurgedError, restore
from sideeffects.services.revoke import revoke
from sideeffects.transitions import EffectState
from sideeffects.workspace.models import Project, Task
from tests import factories
from tests.external import WORKER, bodies
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]
ANNOUNCED, DUE = later(days=28), later(days=30)


def revoked(*, now=NOW, **project):
    group = factories.project(planner(), **{"tasks": 2, **project})
    [result] = revoke(groups=[group.pk], by=person("alice"), now=now, reason="", trigger=Trigger.CLICK)
    result.unwrap()
    return group


def announce(now=ANNOUNCED):
    return purge.announce(by=WORKER, now=now)


def sweep(now=DUE):
    return purge.purge(by=WORKER, now=now)


def states(group):
    return set(Effect.objects.filter(group=group).values_list("state", flat=True))


def test_on_its_date_and_not_before_rows_and_versions_leave_for_good_and_the_record_stays():
    group = revoked()
    assert announce(later(days=26)) == 0
    assert (announce(), announce()) == (1, 0)
    assert sweep(later(days=30, seconds=-1)) == 0
    assert sweep() == 1
    assert sweep(later(days=99)) == 0
    assert not Project.objects.exists()
    assert not Task.objects.exists()
    assert not Project.history.exists()
    assert not Task.history.exists()
    assert states(group) == {EffectState.PURGED}
    [record] = bodies("trash_purged")
    assert record["data"]["counts"] == {"project": 1, "task": 2}
    assert record["data"]["purge_at"] == DUE.isoformat()
    assert [member["type"] for member in record["data"]["members"]] == ["project", "task", "task"]
    assert len(bodies("purge_announced")) == 1
    [view] = views_of([group], by=person("alice"))
    assert str(view.state_words) == "Revoked, and purged from the trash"
    assert not view.complete
    assert not view.can_restore
    [result] = restore(groups=[group.pk], by=person("alice"), now=later(days=31), reason="")
    assert isinstance(result.refusal, PurgedError)


def test_the_date_is_the_one_of_the_revoke_whatever_the_setting_says_later(settings):
    revoked()
    settings.TRASH_DAYS = 1
    assert announce(later(days=2)) == 0
    announce()
    assert sweep(later(days=29)) == 0
    settings.TRASH_DAYS = 300
    assert sweep() == 1


def test_what_was_announced_late_stays_a_day_longer():
    revoked()
    announce(later(days=40))
    assert bodies("purge_announced")[0]["data"]["purge_at"] == later(days=41).isoformat()
    assert sweep(later(days=40, hours=23)) == 0
    assert sweep(later(days=41)) == 1


def test_the_owner_is_told_once_and_the_admin_is_not():
    for name in ("alice", "admin"):
        who = person(name).user
        who.email = f"{name}@example.com"
        who.save()
    group = revoked()
    announce()
    announce(later(days=29))
    assert notices.send(by=WORKER, now=ANNOUNCED) == 1
    [message] = mail.outbox
    assert message.to == ["alice@example.com"]
    principal = Effect.objects.get(group=group, position=0)
    assert f"goes for good: project.create: project {principal.object_id} and 2 more, 30 Dec 2026" in message.body


def test_an_open_conflict_holds_its_group_and_no_other():
    held, free = revoked(name="held"), revoked(name="free")
    fields = {"digest": "d", "effects": [], "held": False, "first_seen_at": NOW, "last_seen_at": NOW}
    conflict = Declaration.objects.create(group=held, declared_by="agent:planner", **fields)
    announce()
    assert sweep() == 1
    assert (states(held), states(free)) == ({EffectState.REVOKED}, {EffectState.PURGED})
    Declaration.objects.filter(pk=conflict.pk).update(resolved_at=DUE, resolved_by="user:alice", resolution="dismiss")
    assert sweep(later(days=40)) == 0
    assert announce(later(days=40)) == 1
    assert sweep(later(days=41)) == 1
    assert states(held) == {EffectState.PURGED}


@pytest.mark.parametrize("how", ["a living child", "brought back by hand", "someone else's"])
def test_what_cannot_go_holds_only_its_own_group_and_says_why(how):
    held = revoked(name="held")
    project = Project.objects.get(name="held")
    others = [revoked(name=f"free {number}") for number in range(3)]
    announce()
    if how == "a living child":
        task = Task.objects.create(owner=project.owner, created_at=NOW, project=project, title="by hand")
        why = f"project {project.pk} is still pointed to by task {task.pk}"
    elif how == "brought back by hand":
        Project.objects.filter(pk=project.pk).update(deleted_at=None, deleted_by="")
        why = f"project {project.pk} is not in the trash: it was brought back by hand"
    else:
        Project.objects.filter(pk=project.pk).update(owner=factories.user("bob"))
        why = f"project {project.pk} belongs to someone else by now"
    assert sweep() == 3
    assert {state for group in others for state in states(group)} == {EffectState.PURGED}
    assert states(held) == {EffectState.REVOKED}
    assert Task.objects.filter(project=project).count() >= 2
    row = Revocation.objects.get(group=held)
    assert (row.purge_held_since, row.purge_held_why) == (DUE, why)
    assert [body["data"]["why"] for body in bodies("purge_held")] == [why]
    assert Notice.objects.filter(kind="cannot be purged").count() == 1
    assert sweep(later(days=30, hours=7)) == 0
    assert len(bodies("purge_held")) == 1, "said once for each reason"
    [result] = restore(groups=[held.pk], by=person("alice"), now=later(days=31), reason="")
    if how == "a living child":
        assert result.refusal is None
    else:
        assert result.refusal is not None


def test_what_was_absent_already_is_said_on_the_log():
    revoked()
    task = Task.objects.latest("pk")
    key = str(task.pk)
    task.delete()
    announce()
    assert sweep() == 1
    members = bodies("trash_purged")[0]["data"]["members"]
    details = {member["id"]: member.get("detail") for member in members if member["type"] == "task"}
    assert details[key] == "was absent already, not by this"
    assert list(details.values()).count(None) == 1


def test_what_was_restored_or_taken_back_again_is_announced_anew():
    group, alice = revoked(), person("alice")
    announce()
    restore(groups=[group.pk], by=alice, now=ANNOUNCED, reason="")
    assert sweep() == 0
    revoke(groups=[group.pk], by=alice, now=DUE, reason="", trigger=Trigger.CLICK)
    assert sweep(later(days=60)) == 0
    assert announce(later(days=58)) == 1
    assert sweep(later(days=60)) == 1


def test_statements_do_not_grow_with_the_rows_of_a_go(django_assert_max_num_queries):
    groups = [revoked(name=f"P {number}", tasks=5) for number in range(10)]
    announce()
    with django_assert_max_num_queries(40):
        assert sweep() == 10
    assert {state for group in groups for state in states(group)} == {EffectState.PURGED}
