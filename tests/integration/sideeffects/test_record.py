"""Is a call that ran elsewhere recorded once, whatever is said about it later, and never absent?"""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Record
from sideeffects.declarations import Declared, NotCanonicalError
from sideeffects.models import Declaration, Effect, Group, Revocation
from sideeffects.policies import NotFoundError, ScopeMissingError
from sideeffects.services import compare, land
from sideeffects.services.declare import declare_tool
from sideeffects.services.land import DeclarationConflictError, NotReportedError
from sideeffects.services.record import KeyReusedError, Status, ToolBlockedError
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import InFlightError, NothingWrittenError, revoke
from sideeffects.tools import Contract
from sideeffects.transitions import GroupState, Operation, RevokeClass, TransitionError
from tests import factories
from tests.factories import NOW, contact, later, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]

report: Any = factories.report  # its group is there wherever a test looks at it
ELEVEN = [contact(f"c_{number}") for number in range(11)]


def actions():
    return list(Record.objects.order_by("id").values_list("action", flat=True))


def bodies(action):
    return [json.loads(record.body) for record in Record.objects.filter(action=action).order_by("id")]


def revoked(group, by):
    """Stand in for what only a target can do yet: somebody has asked to revoke this, and it was done."""
    return Revocation.objects.create(
        group=group, asked_at=NOW, asked_by=str(by.party), user=by.user, trigger="click", authority="owner"
    )


# -- Once, and for ever -----------------------------------------------------------------------------------------------


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


# -- Explicit keys ----------------------------------------------------------------------------------------------------


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


# -- Failed, lost, in flight ------------------------------------------------------------------------------------------


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


# -- Conflicts --------------------------------------------------------------------------------------------------------


def test_eleven_then_twelve_keeps_the_first_and_stores_the_difference():
    group = report(by := planner(), ELEVEN).group
    second = report(by, [*ELEVEN, contact("c_11")], now=later(minutes=1))
    assert (second.result, second.created) == ("conflict", True)
    with pytest.raises(DeclarationConflictError) as told:
        second.check_agrees()
    assert told.value.group == str(group.pk)
    assert [member["id"] for member in told.value.difference["only_second"]] == ["c_11"]
    assert Effect.objects.count() == 11
    held, conflict = Declaration.objects.order_by("-held")
    assert (len(held.effects), len(conflict.effects)) == (11, 12)
    [body] = bodies("declaration_differed")
    assert [member["id"] for member in body["data"]["only_declared"]] == ["c_11"]
    assert ["contact", "c_11"] in body["subjects"]


def test_repeats_of_a_conflict_fold_into_its_count():
    report(by := planner(), ELEVEN)
    twelve = [*ELEVEN, contact("c_11")]
    first = report(by, twelve, now=later(minutes=1))
    for minute in (3, 2):  # the clocks of two processes need not agree
        again = report(by, twelve, now=later(minutes=minute))
        assert (again.result, again.created, again.conflict) == ("conflict", False, first.conflict)
    row = Declaration.objects.get(held=False)
    assert (row.seen, row.first_seen_at, row.last_seen_at) == (3, later(minutes=1), later(minutes=3))
    assert len(bodies("declaration_differed")) == 1


def test_what_a_person_has_resolved_stays_resolved():
    report(by := planner(), ELEVEN)
    twelve = [*ELEVEN, contact("c_11")]
    report(by, twelve)
    Declaration.objects.filter(held=False).update(resolved_at=NOW, resolved_by="user:alice", resolution="dismiss")
    assert report(by, twelve, now=later(days=1)).result == "replayed"
    assert Declaration.objects.filter(held=False, resolved_at=None).count() == 0


def test_conflicts_are_kept_up_to_a_cap_and_counted_beyond_it(monkeypatch):
    monkeypatch.setattr(compare, "MOST_CONFLICTS", 3)
    report(by := planner(), ELEVEN)
    results = [report(by, [contact(f"x_{number}")]) for number in range(5)]
    assert [result.result for result in results] == ["conflict"] * 5
    assert [result.created for result in results] == [True] * 3 + [False] * 2
    for result, kept in ((results[2], "Both are kept"), (results[3], "This one was counted and not kept")):
        with pytest.raises(DeclarationConflictError, match=kept):
            result.check_agrees()
    assert Declaration.objects.filter(held=False, kept=True).count() == 3
    assert Group.objects.get().declarations_not_kept == 2
    assert Declaration.objects.get(kept=False).seen == 2
    assert len(bodies("declaration_differed")) == 4, "the first that is not kept is on the log, and no other"


def test_one_object_in_another_version_is_a_change_and_not_two_objects():
    def version(text):
        return Declared("contact", "c_1", Operation.UPDATE, version=text)

    report(by := planner(), [version("1")])
    conflict = report(by, [version("2")]).conflict
    assert conflict.difference["only_first"] == conflict.difference["only_second"] == []
    [changed] = conflict.difference["changed"]
    assert (changed["first"]["version"], changed["second"]["version"]) == ("1", "2")


def test_a_call_without_effects_that_declares_some_later_differs():
    report(by := planner(), [])
    assert report(by, []).result == "replayed"
    assert report(by, [contact("c_1")]).result == "conflict"


# -- Equal declarations that ids cannot tell apart --------------------------------------------------------------------


def email():
    return [Declared("e-mail", "", Operation.CREATE, title="Welcome")]


def test_two_identical_e_mails_count_as_declared_twice():
    by = planner()
    for _ in range(3):
        group = report(by, email(), tool="email.send").group
    group.refresh_from_db()
    assert group.repeats == 2
    assert len(bodies("group_landed")) == 1


def test_without_ids_the_title_tells_two_objects_apart():
    report(by := planner(), email(), tool="email.send")
    other = [Declared("e-mail", "", Operation.CREATE, title="Goodbye")]
    assert report(by, other, tool="email.send").result == "conflict"


def test_with_ids_the_title_does_not_count():
    report(by := planner(), [Declared("contact", "c", Operation.CREATE, title="Ada")])
    assert report(by, [Declared("contact", "c", Operation.CREATE, title="Ada L.")]).result == "replayed"


def test_a_source_that_is_read_again_counts_nothing_twice():
    by = planner()
    for _ in range(2):
        for occurrence in (1, 2, 3):
            report(by, email(), tool="email.send", occurrence=occurrence)
    assert Group.objects.get().repeats == 2
    report(by, ELEVEN)
    for _ in range(2):
        for occurrence in (1, 2):
            report(by, [contact("other")], occurrence=occurrence)
    assert Declaration.objects.get(held=False).seen == 2


# -- Again after a revoke ---------------------------------------------------------------------------------------------


def test_other_effects_after_a_revoke_are_a_new_group_that_says_so():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    again = report(by, [contact("c_99")], now=later(hours=1))
    assert (again.result, again.created) == ("recorded", True)
    assert (again.group.generation, again.group.again_after_revoke) == (1, True)
    assert Effect.objects.filter(group=again.group).get().state == "active"
    assert not Declaration.objects.filter(held=False).exists()
    assert bodies("group_landed")[1]["data"]["generation"] == "1"


def test_each_generation_keeps_its_own_replays():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    second = report(by, [contact("c_99")]).group
    assert report(by, ELEVEN).group == first
    assert report(by, [contact("c_99")]).group == second
    third = report(by, [contact("c_100")])
    assert (third.result, third.group) == ("conflict", second)
    revoked(second, by)
    assert report(by, [contact("c_101")]).group.generation == 2
    assert report(by, ELEVEN).group == first
    assert report(by, [contact("c_100")]).result == "conflict"  # known there already, decided by nobody
    assert Group.objects.count() == 3


def test_a_call_announced_after_a_revoke_is_never_absent():
    first = report(by := planner(), ELEVEN).group
    revoked(first, by)
    opened = report(by, [], status=Status.IN_FLIGHT, now=later(hours=1))
    assert (opened.result, opened.group.generation, opened.group.again_after_revoke) == ("opened", 1, True)
    assert report(by, [contact("c_99")]).group == opened.group


def test_after_a_restore_other_effects_are_a_conflict_again():
    first = report(by := planner(), ELEVEN).group
    row = revoked(first, by)
    Revocation.objects.filter(pk=row.pk).update(restored_at=NOW, restored_by="user:alice")
    assert report(by, [contact("c_99")]).result == "conflict"


# -- What tools promise -----------------------------------------------------------------------------------------------


def block(by):
    declare_tool(name="rm.everything", contract=Contract(revoke_class=RevokeClass.NONE, blocked=True), by=by, now=NOW)


def test_a_blocked_tool_is_refused_before_anything_happens():
    block(by := planner())
    with pytest.raises(ToolBlockedError):
        report(by, [], tool="rm.everything", status=Status.IN_FLIGHT)
    assert not Group.objects.exists()
    [body] = bodies("call_refused")
    assert body["data"] == {"tool": "rm.everything", "conversation": "c1", "reason": "tool-blocked"}


def test_what_a_blocked_tool_has_done_elsewhere_is_recorded_all_the_same():
    block(by := planner())
    assert report(by, [contact("c_1")], tool="rm.everything").created
    assert Effect.objects.get().revoke_class == "none"


def test_a_group_keeps_the_contract_of_its_own_time():
    factories.crm(by := planner())
    before = report(by, ELEVEN).group
    changed = Contract(revoke_class=RevokeClass.NONE, reason="the CRM took its DELETE away")
    declare_tool(name="crm.create_contact", contract=changed, by=by, now=later(minutes=1))
    after = report(by, ELEVEN, arguments={"n": 2}).group
    assert (before.version_number(), after.version_number()) == ("1", "2")
    assert set(before.effects.values_list("revoke_class", flat=True)) == {"governed_external"}
    assert set(after.effects.values_list("revoke_class", "reason")) == {("none", "the CRM took its DELETE away")}


def test_an_object_without_an_id_cannot_be_named_to_its_target():
    factories.crm(by := planner())
    report(by, [contact("")])
    assert Effect.objects.values_list("revoke_class", "reason").get() == (
        "none",
        "No id was declared, so there is nothing to name to the target",
    )


def test_an_operation_without_a_way_back_is_none_whatever_the_tool_says():
    factories.crm(by := planner())
    report(by, [contact("c_1"), contact("c_2", Operation.UPDATE)])
    assert list(Effect.objects.values_list("revoke_class", "reason")) == [
        ("governed_external", ""),
        ("none", "No way back is declared for update"),
    ]


def test_what_is_reported_of_a_tool_that_runs_here_never_stands_in_for_a_run():
    by = planner()
    arguments = {"name": "Q3 launch", "tasks": ["One"]}
    reported = report(by, [contact("1", type_="project")], tool="project.create", arguments=arguments)
    executed = factories.run(by, "project.create", arguments)
    assert executed.result == "recorded"
    assert executed.group != reported.group
    assert report(by, [contact("1", type_="project")], tool="project.create", arguments=arguments).result == "replayed"
    [(revoke_class, reason)] = reported.group.effects.values_list("revoke_class", "reason")
    assert revoke_class == "none"
    assert "ran elsewhere" in reason


def test_a_tool_that_runs_here_gives_what_is_only_reported_no_way_back_to_a_target_either():
    by = planner()
    mixed = Contract(revoke_class=RevokeClass.LOCAL, target="crm", compensations={"create": "DELETE /contacts/{id}"})
    declare_tool(name="mixed", contract=mixed, by=by, now=NOW)
    group = report(by, [contact("c_1")], tool="mixed").group
    assert set(group.effects.values_list("revoke_class", flat=True)) == {"none"}


def test_nobody_reports_on_a_call_that_runs_here():
    by = planner()
    group: Any = factories.run(by, "note.create", {"title": "x"}, idempotency_key="k").group
    for status in Status:
        with pytest.raises(NotReportedError):
            report(by, [], tool="note.create", arguments={"title": "x"}, idempotency_key="k", status=status)
    with pytest.raises(NotReportedError):
        land.land(group=group.pk, effects=[], by=by, now=NOW)
    assert Group.objects.get().state == GroupState.LANDED
