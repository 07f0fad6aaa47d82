"""Is a call in flight revoked when it arrives, once, by whoever asked for that, and only if they still may?"""

from datetime import timedelta

import pytest

from audit import log
from sideeffects import actors, policies, presenters
from sideeffects.models import AgentToken, Fence, Group, Notice, Role
from sideeffects.services import fence, land
from sideeffects.services.execute import ToolFailedError, execute
from sideeffects.services.record import Status, ToolCall
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import InFlightError, revoke
from sideeffects.tools import REGISTRY, RegisteredTool, Written
from sideeffects.workspace.models import Project
from sideeffects.workspace.tools import LOCAL
from tests import external, factories
from tests.external import bodies
from tests.factories import contact, later, person, planner, report

pytestmark = [pytest.mark.django_db, pytest.mark.both]

BEAT = actors.system("worker")


@pytest.fixture
def by(settings):
    """The agent planner; its contacts lie in a registered target that is never called here."""
    settings.TARGET_HOSTS = frozenset({"127.0.0.1:9"})
    external.registered("http://127.0.0.1:9")
    factories.crm(agent := planner())
    return agent


def opened(by, **more) -> Group:
    group = report(by, [], status=Status.IN_FLIGHT, **more).group
    assert group is not None
    return group


def fenced(group, who="alice", reason=""):
    return fence.put(
        group=group.pk, reason=reason, by=person(who) if isinstance(who, str) else who, now=later(minutes=1)
    )


def landed(group, by):
    return land.land(group=group.pk, effects=[contact("c_1")], by=by, now=later(minutes=2))


def fired(minutes=3):
    return fence.fire(by=BEAT, now=later(minutes=minutes))


def ended(row):
    row.refresh_from_db()
    return row.result, row.detail


def notes(group):
    [view] = presenters.views_of([Group.objects.get(pk=group.pk)], by=person("alice"))
    return [str(note) for note in view.notes]


def test_what_lands_is_revoked_once_in_the_name_of_whoever_set_the_fence(by):
    group = opened(by)
    with pytest.raises(InFlightError):
        revoke(groups=[group.pk], by=person("alice"), now=later(), reason="", trigger=Trigger.CLICK)[0].unwrap()
    row = fenced(group, reason="wrong customer")
    assert fenced(group, "alice", "again") == row, "one waits"
    assert notes(group) == ["Fenced by alice: it is revoked when it arrives"]
    assert fired() == 0
    landed(group, by)
    assert notes(group) == ["It has arrived, and the fence that alice set has not fired yet"]
    assert (fired(), fired(), ended(row)) == (1, 0, ("fired", "not sent"))
    revocation = group.revocations.get()
    assert (revocation.trigger, revocation.asked_by, revocation.authority) == ("fence", "user:alice", "owner")
    assert revocation.reason == "wrong customer"
    [body] = bodies("COMPENSATE")
    assert (body["actor"]["name"], body["data"]["trigger"]) == ("alice", "fence")
    assert [len(bodies(name)) for name in ("fence_set", "fence_ended")] == [1, 1]
    assert notes(group) == ["Revoke asked by the fence that alice had set"]


def test_a_call_that_was_lost_and_lands_after_all_is_caught(by):
    group = opened(by)
    land.lose(group=group.pk, reason="timeout", by=by, now=later(seconds=1))
    row = fenced(group)
    landed(group, by)
    assert (fired(), ended(row)[0]) == (1, "fired")


def test_a_call_that_fails_ends_its_fence_and_a_later_try_has_none(by):
    group = opened(by)
    row = fenced(group)
    land.fail(group=group.pk, reason="no", by=by, now=later(minutes=2))
    assert (fired(), ended(row)[0]) == (1, "nothing written")
    again = report(by, [contact("c_1")]).group
    assert again != group
    assert Fence.objects.count() == 1


def _admin_no_more(_token):
    Role.objects.filter(user__username="admin").delete()


def _another_owner(_token):
    Group.objects.update(owner=factories.user("bob"))


def _closed(_token):
    user = factories.user("alice")
    user.is_active = False
    user.save()


def _withdrawn(token):
    AgentToken.objects.filter(pk=token.pk).update(withdrawn_at=later(), withdrawn_by="user:alice")


def _expired(token):
    AgentToken.objects.filter(pk=token.pk).update(expires_at=later(minutes=2))


def _no_scope(token):
    AgentToken.objects.filter(pk=token.pk).update(scopes=["record"])


@pytest.mark.parametrize(
    ("who", "change", "why"),
    [
        ("admin", _admin_no_more, "may not revoke this any more"),
        ("alice", _another_owner, "may not revoke this any more"),
        ("alice", _closed, "account"),
        ("planner", _withdrawn, "token"),
        ("planner", _expired, "token"),
        ("planner", _no_scope, "revoke-own"),
    ],
)
def test_who_may_not_revoke_it_any_more_does_not_and_the_reason_is_kept(by, who, change, why):
    group = opened(by)
    row = fenced(group, by if who == "planner" else who, "on behalf")
    landed(group, by)
    change(by.token)
    assert fired() == 1
    result, detail = ended(row)
    assert (result, why in detail) == ("refused", True), detail
    assert not group.revocations.exists()
    assert bodies("fence_ended")[0]["data"]["detail"] == detail
    assert Notice.objects.get(group=group).detail == detail
    assert notes(group) == [f"The fence that {presenters.name_of(row.set_by)} had set did not fire: {detail}"]
    assert fired() == 0


def test_what_cannot_be_revoked_ends_the_fence_with_the_tools_own_reason(by):
    group = opened(by, tool="email.send")
    row = fenced(group)
    land.land(group=group.pk, effects=[contact("m", type_="message")], by=by, now=later(minutes=2))
    assert fired() == 1
    assert ended(row)[0] == "refused"
    assert ended(row)[1].startswith("Not revocable: ")
    assert len(bodies("revoke_refused")) == 1


@pytest.mark.parametrize(
    ("who", "reason", "refusal"),
    [
        ("bob", "", policies.NotFoundError),
        ("auditor", "x", policies.ReadOnlyError),
        ("admin", "", policies.ReasonRequiredError),
        ("reader", "", policies.ScopeMissingError),
    ],
)
def test_only_who_may_revoke_it_may_fence_it(by, who, reason, refusal):
    group = opened(by)
    asker = planner(scopes=["read"]) if who == "reader" else who
    with pytest.raises(refusal):
        fenced(group, asker, reason)
    assert not Fence.objects.exists()


def test_a_landed_call_takes_no_fence(by):
    group = report(by, [contact("c_1")]).group
    with pytest.raises(fence.NotInFlightError):
        fenced(group)


def test_a_fence_that_was_lifted_does_not_fire_and_an_agent_lifts_none(by):
    group = opened(by)
    row = fenced(group, by)
    with pytest.raises(policies.ForPersonsOnlyError):
        fence.lift(group=group.pk, reason="", by=by, now=later(minutes=2))
    for _ in range(2):
        fence.lift(group=group.pk, reason="meant after all", by=person("alice"), now=later(minutes=2))
    landed(group, by)
    assert fired() == 0
    row.refresh_from_db()
    assert (row.state, row.lifted_by, row.set_by) == ("lifted", "user:alice", "agent:planner")
    assert len(bodies("fence_lifted")) == 1
    assert not group.revocations.exists()
    other = opened(by, arguments={"n": 2})
    with pytest.raises(policies.NotFoundError):
        fence.lift(group=other.pk, reason="", by=person("alice"), now=later(minutes=2))
    fenced(other)
    land.land(group=other.pk, effects=[contact("c_2")], by=by, now=later(minutes=3))
    fired()
    with pytest.raises(fence.FenceEndedError, match="has ended before: fired") as told:
        fence.lift(group=other.pk, reason="", by=person("alice"), now=later(minutes=4))
    assert not hasattr(told.value, "detail"), "the problem's detail is its explanation (RFC 9457)"


def test_one_that_cannot_fire_keeps_no_other_from_firing(by, monkeypatch):
    groups = [opened(by, arguments={"n": number}) for number in (1, 2)]
    rows = [fenced(group) for group in groups]
    for number, group in enumerate(groups):
        land.land(group=group.pk, effects=[contact(f"c_{number}")], by=by, now=later(minutes=2))
    append = log.append

    def broken(entries, **more):
        if entries[0].group == str(groups[0].pk):
            raise OSError("disk full")
        return append(entries, **more)

    monkeypatch.setattr(log, "append", broken)
    assert fired() == 1
    assert [ended(row)[0] for row in rows] == ["", "fired"]
    assert not groups[0].revocations.exists()
    monkeypatch.undo()
    assert (fired(), ended(rows[0])[0]) == (1, "fired")


def test_a_call_that_runs_here_is_fenced_while_it_runs(by, monkeypatch, django_capture_on_commit_callbacks):
    woken = []
    monkeypatch.setattr(fence, "wake_fences", lambda: woken.append(1))
    fails: list[int] = []

    def slow(_arguments, call):
        fenced(Group.objects.get(tool="test.slow", state="open"))
        if fails:
            raise OSError
        project = Project.objects.create(owner=call.owner, created_at=call.now, name="late")
        return [Written(type="project", id=str(project.pk))]

    monkeypatch.setitem(REGISTRY, "test.slow", RegisteredTool("test.slow", LOCAL, None, slow))
    call = ToolCall(tool="test.slow", arguments={}, conversation="c1")
    with django_capture_on_commit_callbacks(execute=True):
        execute(tool=REGISTRY["test.slow"], call=call, owner=by.user, by=by, now=later())
    assert woken
    assert fired() == 1
    assert Project.objects.get().deleted_at is not None
    assert Group.objects.get(tool="test.slow").revocations.get().trigger == "fence"
    fails.append(1)
    with pytest.raises(ToolFailedError):
        execute(
            tool=REGISTRY["test.slow"],
            call=ToolCall(tool="test.slow", arguments={}, conversation="c2"),
            owner=by.user,
            by=by,
            now=later(minutes=5),
        )
    assert Fence.objects.filter(ended_at=None).count() == 0, "the fence went with what the tool wrote"


def test_a_run_that_was_killed_says_that_it_is_overdue(by):
    group = opened(by)
    for ago, said in (
        (timedelta(hours=-1), "In flight: cannot be revoked yet"),
        (timedelta(hours=1), "In flight: its run here is overdue, nothing is written so far"),
    ):
        Group.objects.update(source="executed", lease_until=external.clock() - ago)
        [view] = presenters.views_of([Group.objects.get(pk=group.pk)], by=person("alice"))
        assert str(view.state_words).startswith(said)
