"""Is a call that ran elsewhere recorded once, whatever is said about it later, and never absent?"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sideeffects.declarations import NotCanonicalError
from sideeffects.models import Effect, Group, Revocation
from sideeffects.policies import NotFoundError, ScopeMissingError
from sideeffects.services import land
from sideeffects.services.record import KeyReusedError, Status
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import InFlightError, NothingWrittenError, revoke
from sideeffects.transitions import GroupState, TransitionError
from tests import factories
from tests.external import actions, bodies
from tests.factories import NOW, contact, later, planner, revoked

pytestmark = [pytest.mark.django_db, pytest.mark.both]

report: Any = factories.report  # its group is there wherever a test looks at it
ELEVEN = [contact(f"c_{number}") for number in range(11)]


# -- Once, and for ever ------------------------------------------------------------------------------------------------


def test_a_call_is_held_as_declared_principal_first():
    factories.crm(by := planner())
    result = report(by, ELEVEN)
    assert (result.result, result.created) == ("recorded", True)
    assert result.group is not None
    assert result.group.state == GroupState.LANDED
    assert list(Effect.objects.values_list("object_id", flat=True)) == [effect.id for effect in ELEVEN]
    assert set(Effect.objects.values_list("revoke_class", "target__name")) == {("governed_external", "crm.example")}
    [body] = bodies("group_landed")
    assert body["target"] == {"type": "contact", "id": "c_0"}
    assert (body["actor"]["name"], body["owner"]["name"]) == ("planner", "alice")
    assert len(body["data"]["members"]) == 11


def test_an_equal_declaration_is_a_replay_and_nothing_is_written():
    first = report(by := planner(), ELEVEN)
    records, rows = len(actions()), list(Group.objects.values())
    with CaptureQueriesContext(connection) as queries:
        again = report(by, ELEVEN, now=later(days=400))
    assert (again.result, again.group, again.created) == ("replayed", first.group, False)
    assert len(actions()) == records
    assert list(Group.objects.values()) == rows
    assert not [query for query in queries if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


@pytest.mark.parametrize("restored", [False, True])
def test_an_equal_declaration_stays_a_replay_whatever_became_of_the_group(restored):
    first = report(by := planner(), ELEVEN).group
    row = revoked(first, by)
    if restored:
        Revocation.objects.filter(pk=row.pk).update(restored_at=NOW, restored_by="user:alice")
    again = report(by, ELEVEN, now=later(hours=1))
    assert (again.result, again.group) == ("replayed", first)


def test_the_order_of_members_does_not_count_but_the_principal_does():
    report(by := planner(), ELEVEN)
    assert report(by, [ELEVEN[0], *reversed(ELEVEN[1:])]).result == "replayed"
    swapped = report(by, [ELEVEN[1], ELEVEN[0], *ELEVEN[2:]])
    assert swapped.result == "conflict"
    assert swapped.conflict is not None
    assert swapped.conflict.difference["principal"]["id"] == "c_1"
    assert Group.objects.count() == 1


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 0}, {"n": -0.0}, True),
        ({"n": 1}, {"n": "1"}, False),
        ({"n": 1}, {"n": True}, False),
        ({"a": 1, "b": [2, 3]}, {"b": [2, 3], "a": 1}, True),
        ({"b": [2, 3]}, {"b": [3, 2]}, False),
        ({"n": None}, {}, False),
        ({"n": 2**63 - 1}, {"n": 2**63 - 2}, False),
        ({"n": 2**53}, {"n": 2.0**53}, True),
        ({"n": 2**53 + 1}, {"n": 2.0**53}, False),
    ],
)
def test_calls_are_the_same_where_their_arguments_are_as_json(first, second, same):
    by = planner()
    report(by, ELEVEN, arguments=first)
    assert (report(by, ELEVEN, arguments=second).result == "replayed") is same
    assert Group.objects.count() == (1 if same else 2)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "\ud800", {"\ud800": 1}])
def test_what_has_no_canonical_form_is_refused_naming_the_member(wrong):
    with pytest.raises(NotCanonicalError) as refused:
        report(planner(), ELEVEN, arguments={"n": wrong})
    assert refused.value.member == "arguments"
    assert not Group.objects.exists()


def test_endless_nesting_is_refused_and_breaks_nothing():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotCanonicalError):
        report(planner(), ELEVEN, arguments={"n": deep})


def test_other_owners_and_other_conversations_have_calls_of_their_own():
    report(planner(), ELEVEN)
    report(planner(owner="bob"), ELEVEN)
    report(planner(), ELEVEN, conversation="c2")
    assert Group.objects.count() == 3


def test_a_replay_costs_a_fixed_number_of_statements_and_a_record_too():
    factories.crm(by := planner())
    counts = []
    for arguments, effects in (({"n": 1}, ELEVEN), ({"n": 2}, [contact(f"c_{n}") for n in range(300)])):
        for _ in ("recorded", "replayed"):
            with CaptureQueriesContext(connection) as queries:
                report(by, effects, arguments=arguments)
            counts.append(len(queries))
    recorded, replayed, recorded_many, replayed_many = counts
    assert recorded <= 20
    assert replayed <= 12
    assert recorded_many <= recorded + 8  # a bulk insert of more rows than one statement holds
    assert replayed_many == replayed


# -- Explicit keys -----------------------------------------------------------------------------------------------------


def test_one_key_and_other_arguments_are_refused_naming_the_first_call():
    first = report(by := planner(), ELEVEN, idempotency_key="k").group
    records = len(actions())
    for other in ({"arguments": {"n": 2}}, {"tool": "erp.book"}):
        with pytest.raises(KeyReusedError) as refused:
            report(by, ELEVEN, idempotency_key="k", **other)
        assert (refused.value.group, refused.value.tool) == (str(first.pk), "crm.create_contact")
    assert Group.objects.count() == 1
    assert len(actions()) == records


def test_other_effects_under_one_key_are_a_conflict_and_not_another_call():
    report(by := planner(), ELEVEN, idempotency_key="k")
    assert report(by, [*ELEVEN, contact("c_11")], idempotency_key="k").result == "conflict"


def test_someone_elses_key_reads_as_unused():
    report(planner(), ELEVEN, idempotency_key="k")
    for stranger in (planner(owner="bob"), planner(agent="other")):
        result = report(stranger, [contact("x")], arguments={"n": 2}, idempotency_key="k")
        assert (result.result, result.created) == ("recorded", True)


def test_an_explicit_key_makes_the_same_call_another_one():
    report(by := planner(), ELEVEN)
    assert report(by, ELEVEN, idempotency_key="second").created
    assert Group.objects.count() == 2


# -- Failed, lost, in flight -------------------------------------------------------------------------------------------


def test_a_failure_leaves_no_effect_and_consumes_no_key():
    by = planner()
    for _ in range(2):
        failed = report(by, [], status=Status.FAILED)
        assert (failed.result, failed.group) == ("failed", None)
    assert not Group.objects.exists()
    assert report(by, ELEVEN, now=later(minutes=1)).created
    assert report(by, [], status=Status.FAILED).group is None
    assert Group.objects.get().state == GroupState.LANDED


def test_a_failure_under_an_explicit_key_leaves_the_key_free():
    by = planner()
    opened = report(by, [], status=Status.IN_FLIGHT, idempotency_key="k").group
    failed = report(by, [], status=Status.FAILED, idempotency_key="k").group
    assert failed == opened
    assert failed.state == GroupState.FAILED
    assert report(by, ELEVEN, idempotency_key="k").created
    assert sorted(Group.objects.values_list("state", flat=True)) == ["failed", "landed"]


def test_a_call_announced_is_visible_in_flight_until_it_lands():
    by = planner()
    opened = report(by, [], status=Status.IN_FLIGHT)
    assert (opened.result, opened.created) == ("opened", True)
    assert report(by, [], status=Status.IN_FLIGHT).result == "replayed"
    assert actions() == ["group_opened"]
    landed = report(by, ELEVEN, now=later(minutes=1))
    assert (landed.result, landed.created, landed.group) == ("recorded", False, opened.group)
    assert report(by, [], status=Status.IN_FLIGHT).group == opened.group
    assert actions() == ["group_opened", "group_landed"]


def test_a_call_lost_without_effects_is_visible_and_may_still_land():
    group = report(by := planner(), [], status=Status.IN_FLIGHT).group
    lost = land.lose(group=group.pk, reason="timed out after 30 s", by=by, now=later(minutes=1))
    assert (lost.state, lost.reason) == (GroupState.LOST, "timed out after 30 s")
    assert not Effect.objects.exists()
    with pytest.raises(InFlightError):
        revoke(groups=[group.pk], by=factories.person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)[0].unwrap()
    assert land.lose(group=group.pk, reason="again", by=by, now=later(minutes=2)).reason == "timed out after 30 s"
    landed = land.land(group=group.pk, effects=ELEVEN, by=by, now=later(hours=1))
    assert landed.result == "recorded"
    assert Group.objects.get().state == GroupState.LANDED
    assert Effect.objects.count() == 11
    assert actions() == ["group_opened", "call_lost", "revoke_refused", "group_landed"]


def test_a_lost_call_that_is_reported_landed_lands():
    group = report(by := planner(), [], status=Status.IN_FLIGHT).group
    land.lose(group=group.pk, reason="", by=by, now=NOW)
    assert report(by, [], status=Status.IN_FLIGHT).group.state == GroupState.LOST
    assert report(by, ELEVEN).group == group


def test_a_failed_call_lands_no_more_and_says_so():
    group = report(by := planner(), [], status=Status.IN_FLIGHT).group
    failed = land.fail(group=group.pk, reason="422", by=by, now=NOW)
    assert land.fail(group=group.pk, reason="500", by=by, now=NOW).reason == failed.reason == "422"
    for attempt in (land.land, land.lose):
        words = {"effects": ELEVEN} if attempt is land.land else {"reason": ""}
        with pytest.raises(TransitionError):
            attempt(group=group.pk, by=by, now=NOW, **words)
    with pytest.raises(NothingWrittenError):
        revoke(groups=[group.pk], by=factories.person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)[0].unwrap()
    assert actions() == ["group_opened", "call_failed", "revoke_refused"]


def test_a_landed_call_neither_fails_nor_gets_lost():
    group = report(by := planner(), ELEVEN).group
    for attempt in (land.fail, land.lose):
        with pytest.raises(TransitionError):
            attempt(group=group.pk, reason="", by=by, now=NOW)
    assert land.land(group=group.pk, effects=ELEVEN, by=by, now=NOW).result == "replayed"
    assert land.land(group=group.pk, effects=[], by=by, now=NOW).result == "conflict"


def test_only_the_agent_that_announced_a_call_reports_on_it():
    group = report(planner(), [], status=Status.IN_FLIGHT).group
    for stranger in (planner(owner="bob"), planner(agent="other"), factories.person("alice")):
        with pytest.raises(NotFoundError):
            land.land(group=group.pk, effects=ELEVEN, by=stranger, now=NOW)
    with pytest.raises(ScopeMissingError):
        land.land(group=group.pk, effects=ELEVEN, by=planner(scopes=["read"]), now=NOW)
    assert Group.objects.get().state == GroupState.OPEN


def test_recording_needs_the_scope():
    with pytest.raises(ScopeMissingError):
        report(planner(scopes=["read"]), ELEVEN)
    assert not Group.objects.exists()
