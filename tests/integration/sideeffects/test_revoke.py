"""Does a revoke take back exactly what it says, and say exactly what it took back?"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import log
from sideeffects.models import Declaration, Effect, MemberOutcome, Revocation
from sideeffects.policies import NotFoundError, ReadOnlyError, ReasonRequiredError, RevokeCapError
from sideeffects.services.record import Status
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import (
    InFlightError,
    NotRevocableError,
    TargetsOutOfReachError,
    revoke,
)
from sideeffects.targets.local import MembersFailedError
from sideeffects.transitions import EffectState, Outcome, Standing
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.external import bodies
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def ask(group, by, *, reason="", now=NOW, trigger=Trigger.CLICK):
    return revoke(groups=[group.pk], by=by, now=now, reason=reason, trigger=trigger)[0]


def alive():
    return (Project.objects.filter(deleted_at=None).count(), Task.objects.filter(deleted_at=None).count())


def test_eleven_rows_go_together_and_the_log_says_who_asked():
    group = factories.project(planner())
    answer = ask(group, person("alice")).unwrap()
    assert alive() == (0, 0)
    assert answer.complete
    assert answer.outcome is Outcome.REVOKED
    assert answer.counts == {"revoked": 11}
    assert answer.standing is Standing.REVOKED
    [body] = bodies("COMPENSATE")
    assert body["actor"]["name"] == "alice"
    assert body["owner"]["name"] == "alice"
    assert body["target"]["type"] == "project"
    assert body["data"]["authority"] == "owner"
    assert len(body["data"]["members"]) == 11
    assert str(answer.record.uid) == body["uid"]


def test_restore_brings_back_the_same_ids_and_nothing_else():
    group = factories.project(planner())
    before = set(Task.objects.values_list("pk", flat=True))
    by_hand = Task.objects.order_by("pk")[2]
    Task.objects.filter(pk=by_hand.pk).update(deleted_at=NOW, deleted_by="user:alice")
    answer = ask(group, person("alice"), now=later(minutes=1)).unwrap()
    assert answer.counts == {"revoked": 10, "already gone": 1}
    assert not answer.complete
    assert answer.standing is Standing.INCOMPLETE
    back = restore(groups=[group.pk], by=person("alice"), now=later(minutes=2), reason="")[0].unwrap()
    assert back.counts == {"restored": 10, "already gone": 1}
    assert back.standing is Standing.PARTLY_RESTORED
    assert set(Task.objects.filter(deleted_at=None).values_list("pk", flat=True)) == before - {by_hand.pk}
    again = restore(groups=[group.pk], by=person("alice"), now=later(minutes=3), reason="")[0].unwrap()
    assert again.already
    assert len(bodies("restored")) == 1


def test_a_revoke_after_a_restore_is_a_new_revocation():
    group = factories.project(planner())
    for minute in (1, 3):
        assert ask(group, person("alice"), now=later(minutes=minute)).unwrap().complete
        restore(groups=[group.pk], by=person("alice"), now=later(minutes=minute + 1), reason="")[0].unwrap()
    assert Revocation.objects.count() == 2
    assert alive() == (1, 10)
    assert len(bodies("COMPENSATE")) == 2


def test_a_second_revoke_answers_what_is_and_does_nothing():
    group = factories.project(planner())
    first = ask(group, person("alice")).unwrap()
    second = ask(group, person("alice"), now=later(hours=1)).unwrap()
    assert second.already
    assert second.record == first.record
    assert second.counts == first.counts
    assert Revocation.objects.count() == 1
    assert len(bodies("COMPENSATE")) == 1


def test_strangers_learn_nothing_and_auditors_change_nothing():
    group = factories.project(planner())
    with pytest.raises(NotFoundError):
        ask(group, person("bob")).unwrap()
    with pytest.raises(ReadOnlyError):
        ask(group, person("auditor"), reason="curious").unwrap()
    assert alive() == (1, 10)
    assert [body["data"]["refusal"] for body in bodies("revoke_refused")] == ["not-found", "read-only"]
    assert [body["actor"]["name"] for body in bodies("revoke_refused")] == ["bob", "auditor"]


def test_an_admin_needs_a_reason_and_is_named_apart_from_the_owner():
    group = factories.project(planner())
    for nothing in ("  ", "\u200b\u202e"):
        with pytest.raises(ReasonRequiredError):
            ask(group, person("admin"), reason=nothing).unwrap()
    assert ask(group, person("admin"), reason="asked by phone").unwrap().complete
    [body] = bodies("COMPENSATE")
    assert (body["actor"]["name"], body["owner"]["name"]) == ("admin", "alice")
    assert (body["data"]["authority"], body["data"]["reason"]) == ("admin", "asked by phone")
    assert {member["class"] for member in body["data"]["members"]} == {"local_compensate"}


def test_an_agent_revokes_its_own_within_its_cap(settings):
    settings.AGENT_REVOKES_PER_HOUR = 1
    mine = planner()
    groups = [factories.project(mine, name=name) for name in ("A", "B")]
    assert ask(groups[0], mine, trigger=Trigger.API).unwrap().complete
    with pytest.raises(RevokeCapError):
        ask(groups[1], mine, trigger=Trigger.API).unwrap()
    assert ask(groups[1], mine, trigger=Trigger.API, now=later(hours=2)).unwrap().complete
    other = planner(agent="other")
    with pytest.raises(NotFoundError):
        ask(groups[1], other, trigger=Trigger.API).unwrap()
    assert bodies("COMPENSATE")[0]["actor"] == {
        "type": "agent",
        "id": str(mine.token and mine.token.agent_id),
        "name": "planner",
    }


def test_what_cannot_come_back_is_refused_with_the_tools_own_reason():
    group = factories.report(planner(), [factories.contact("", type_="e-mail")], tool="email.send").group
    with pytest.raises(NotRevocableError, match="a sent e-mail does not come back"):
        ask(group, person("alice")).unwrap()
    assert Effect.objects.get().state == EffectState.ACTIVE
    assert not Revocation.objects.exists()


def test_an_unknown_tool_promises_nothing():
    group = factories.report(planner(), [factories.contact("x")], tool="who.knows").group
    with pytest.raises(NotRevocableError, match="No contract is declared"):
        ask(group, person("alice")).unwrap()


def test_a_target_is_not_reached_yet_and_the_answer_says_so():
    by = planner()
    factories.crm(by)
    group = factories.report(by, [factories.contact("c_1")]).group
    with pytest.raises(TargetsOutOfReachError, match=r"no admin has registered crm\.example yet"):
        ask(group, person("alice")).unwrap()
    assert Effect.objects.get().state == EffectState.ACTIVE


def test_a_call_in_flight_cannot_be_revoked_yet():
    group = factories.report(planner(), [], status=Status.IN_FLIGHT).group
    with pytest.raises(InFlightError):
        ask(group, person("alice")).unwrap()


def test_naming_a_strangers_row_does_not_give_power_over_it():
    """An agent that reports another's project as created by it cannot have it deleted."""
    factories.project(planner(owner="bob"))
    theirs = Project.objects.get()
    by = planner(owner="alice", agent="liar")
    for tool in ("project.create", "crm.create_contact", "made.up"):
        factories.crm(by)
        declared = [factories.contact(str(theirs.pk), type_="project")]
        group = factories.report(by, declared, tool=tool, conversation=tool).group
        with pytest.raises((NotRevocableError, TargetsOutOfReachError)):
            ask(group, person("alice")).unwrap()
    theirs.refresh_from_db()
    assert theirs.deleted_at is None


def test_a_row_that_has_changed_hands_is_not_touched():
    group = factories.project(planner())
    Task.objects.filter(title="Task 4").update(owner=factories.user("bob"))
    with pytest.raises(MembersFailedError, match="belongs to someone else"):
        ask(group, person("alice")).unwrap()
    assert alive() == (1, 10)


@pytest.fixture
def seventh():
    """Make the database refuse, or silently skip, the update of one row, as another application's trigger would."""

    def install(how):
        key = Task.objects.order_by("pk")[5].pk  # the seventh member: the project is the first
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                act = "RETURN NULL" if how == "skip" else "RAISE EXCEPTION 'no'"
                cursor.execute(
                    f"CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS "
                    f"$$ BEGIN IF OLD.id = {key} THEN {act}; END IF; RETURN NEW; END $$"
                )
                cursor.execute(
                    "CREATE TRIGGER broken BEFORE UPDATE ON workspace_task FOR EACH ROW EXECUTE FUNCTION broken()"
                )
            else:
                act = "RAISE(IGNORE)" if how == "skip" else "RAISE(ABORT, 'no')"
                cursor.execute(
                    f"CREATE TRIGGER broken BEFORE UPDATE ON workspace_task WHEN OLD.id = {key} BEGIN SELECT {act}; END"
                )
        return key

    return install


@pytest.mark.parametrize("how", ["skip", "refuse"])
def test_member_seven_of_eleven_fails_and_zero_rows_change(seventh, how):
    group = factories.project(planner())
    key = seventh(how)
    with pytest.raises(MembersFailedError) as refused:
        ask(group, person("alice")).unwrap()
    assert f"task {key}" in refused.value.members
    assert alive() == (1, 10)
    assert not Revocation.objects.exists()
    assert not MemberOutcome.objects.exists()
    assert set(Effect.objects.values_list("state", flat=True)) == {"active"}
    assert [body["data"]["refusal"] for body in bodies("revoke_refused")] == ["members-failed"]
    assert not bodies("COMPENSATE")


def test_in_a_list_the_failing_group_stands_alone_and_its_neighbours_go(seventh):
    by = planner()
    groups = [factories.project(by, name=f"P{number}", tasks=10) for number in range(3)]
    seventh("refuse")
    results = revoke(
        groups=[group.pk for group in groups], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK
    )
    assert [result.refusal is not None for result in results] == [True, False, False]
    assert [result.group for result in results] == [group.pk for group in groups]
    assert alive() == (1, 10)


def test_when_the_log_cannot_be_written_nothing_changes(monkeypatch):
    group = factories.project(planner())
    monkeypatch.setattr(log, "append", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        ask(group, person("alice"))
    assert alive() == (1, 10)
    assert not Revocation.objects.exists()
    with pytest.raises(OSError, match="disk full"):
        factories.project(planner(agent="second"), name="other")
    assert alive() == (1, 10)


def test_rows_that_are_absent_are_gone_and_never_success():
    group = factories.run(planner(), "note.create", {"title": "First call"}).group
    Note.objects.all().delete()
    answer = ask(group, person("alice")).unwrap()
    assert answer.outcome is Outcome.ALREADY_GONE
    assert not answer.complete
    assert answer.members[0].detail == "was already gone, not by this"
    assert bodies("COMPENSATE")[0]["outcome"] == "already gone"


def test_an_open_conflict_keeps_a_revoke_from_being_complete():
    group = factories.project(planner())
    Declaration.objects.create(
        group=group,
        digest="x",
        effects=[],
        held=False,
        first_seen_at=NOW,
        last_seen_at=NOW,
        declared_by="agent:planner",
    )
    answer = ask(group, person("alice")).unwrap()
    assert answer.counts == {"revoked": 11}
    assert not answer.complete
    assert answer.standing is Standing.INCOMPLETE
    assert bodies("COMPENSATE")[0]["data"]["conflict_open"] is True


def test_statements_do_not_grow_with_the_rows():
    small, large = (factories.project(planner(), name=name, tasks=tasks) for name, tasks in (("a", 2), ("b", 200)))
    counts = []
    for group in (small, large):
        with CaptureQueriesContext(connection) as queries:
            ask(group, person("alice")).unwrap()
        counts.append(len(queries))
    assert counts[1] <= counts[0] + 6  # bulk inserts of more rows than one statement holds, never one a row
