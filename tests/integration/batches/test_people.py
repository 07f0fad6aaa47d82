"""Who may have a batch worked, steer it and see it, and what if they may not any more?"""

import pytest

from sideeffects import batches
from sideeffects.batches import Scope
from sideeffects.models import AgentToken, Batch, Notice, Revocation
from sideeffects.policies import ForPersonsOnlyError, NotFoundError, ReasonRequiredError, ScopeMissingError
from sideeffects.services import batch, batch_work
from sideeffects.services.batch import BatchKeyReusedError, NothingSelectedError, SelectionChangedError
from tests import factories
from tests.batching import START, fates, note, notes, started, steer, told, worked
from tests.external import bodies
from tests.factories import later, person, planner

pytestmark = pytest.mark.django_db
C1 = Scope(conversation="c1")


def test_only_whoever_asked_and_admins_steer_a_batch():
    notes(planner(), 1)
    row = started()
    for verb in (batch.stop, batch.resume, batch.retry, batch.restore):
        for who in (person("bob"), person("auditor")):
            with pytest.raises(NotFoundError):
                steer(verb, row, by=who)
        with pytest.raises(ForPersonsOnlyError):
            steer(verb, row, by=planner())
    assert steer(batch.stop, row, by=person("admin")).state == "stopped"
    assert steer(batch.resume, row, by=person("admin")).state == "working"
    assert list(batches.visible(person("bob"))) == []
    assert list(batches.visible(person("admin"))) == list(batches.visible(person("alice"))) == [row]


@pytest.mark.both
def test_an_admin_takes_back_what_is_of_several_people_with_a_typed_reason():
    notes(planner("alice"), 2)
    notes(planner("bob"), 1, start=5)
    admin, run = person("admin"), Scope(agent="planner")
    assert batches.preview(scope=run, by=admin, now=START).owners == 2
    assert batches.preview(scope=run, by=admin, now=START).needs_reason
    assert batches.preview(scope=run, by=person("alice"), now=START).groups == 2
    with pytest.raises(ReasonRequiredError):
        started(run, by=admin)
    assert not Batch.objects.exists()
    row = worked(started(run, by=admin, reason="went wrong for an hour"))
    assert (told(row).groups, row.authority) == ({"revoked": 3}, "admin")
    assert set(Revocation.objects.values_list("authority", "reason")) == {("admin", "went wrong for an hour")}
    assert fates(worked(started(run, by=person("bob")))) == ["revoked"]
    with pytest.raises(ReasonRequiredError):
        steer(batch.restore, row, by=admin)
    assert batches.preview(scope=Scope(agent="planner", owner="bob"), by=admin, now=START).groups == 1


def test_whoever_asked_and_may_not_any_more_ends_it(monkeypatch):
    monkeypatch.setattr(batch_work, "GROUPS", 1)
    notes(planner(), 3)
    admin = person("admin")
    row = started(by=admin, reason="cleaning up")
    batch_work.chunk(row.pk, 1, by=admin, now=later(hours=2))
    admin.user.takeback_roles.all().delete()
    assert worked(row).state == "stopped"
    assert row.why == "It was asked for as an admin; whoever asked is not that any more."
    assert told(row).groups == {"revoked": 1, "not attempted": 2}
    [stopped] = bodies("batch_stopped")
    assert (stopped["actor"]["name"], stopped["data"]["reason"]) == ("worker", row.why)
    [notice] = Notice.objects.filter(kind="batch stopped")
    assert (notice.recipient, notice.about, notice.detail) == (admin.user, "revoke of 3 actions", row.why)
    own, alice = started(), factories.user("alice")
    alice.is_active = False
    alice.save()
    assert worked(own).why == "The account of whoever asked for this is closed."
    assert told(own).waiting == 3


def test_an_agent_takes_back_what_it_did_within_its_cap(settings):
    settings.AGENT_REVOKES_PER_HOUR = 2
    by = planner()
    notes(by, 3)
    notes(planner("bob"), 1, start=5)
    reader = planner(scopes=["read"])
    with pytest.raises(ScopeMissingError):
        started(by=reader)
    other = planner(agent="other")
    with pytest.raises(NothingSelectedError):
        started(by=other)
    row = worked(started(by=by))
    assert told(row).groups == {"revoked": 2, "skipped": 1}
    assert batches.items(row, "skipped").get().refusal == "revoke-cap"
    assert (told(row).failed, row.authority, row.user) == (1, "agent", by.user)
    assert list(batches.visible(other)) == []
    assert worked(steer(batch.retry, row)).state == "finished"  # within the hour the cap still holds
    assert told(row).groups == {"revoked": 2, "skipped": 1}
    AgentToken.objects.update(withdrawn_at=later(hours=4), withdrawn_by="user:alice")
    row = worked(steer(batch.retry, row), now=later(hours=5))
    assert (row.state, row.why.split(" of ")[0]) == ("stopped", "The token")
    assert told(worked(started())).groups == {"revoked": 3}  # a person goes on from there


def test_a_key_starts_one_batch_and_a_changed_selection_is_seen():
    by = planner()
    notes(by, 2)
    shown = batches.preview(scope=C1, by=person("alice"), now=START)
    note(by, 8)
    with pytest.raises(SelectionChangedError):
        started(seen=shown.seen)
    shown = batches.preview(scope=C1, by=person("alice"), now=START)
    row = started(seen=shown.seen, key="k", fingerprint="f")
    assert (shown.groups, shown.effects) == (row.groups, row.effects)
    assert started(key="k", fingerprint="f") == row
    with pytest.raises(BatchKeyReusedError):
        started(key="k", fingerprint="g")
    assert Batch.objects.count() == len(bodies("batch_started")) == 1
    assert started(by=by, key="k", fingerprint="f") != row  # another's key reads as unused
