"""Does what a tool promises hold for what is recorded of it, in its own time?"""

from typing import Any

import pytest

from sideeffects.models import Effect, Group
from sideeffects.services import land
from sideeffects.services.declare import declare_tool
from sideeffects.services.land import NotReportedError
from sideeffects.services.record import Status, ToolBlockedError
from sideeffects.tools import Contract
from sideeffects.transitions import GroupState, Operation, RevokeClass
from tests import factories
from tests.external import bodies
from tests.factories import NOW, contact, later, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]

report: Any = factories.report  # its group is there wherever a test looks at it
ELEVEN = [contact(f"c_{number}") for number in range(11)]


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
