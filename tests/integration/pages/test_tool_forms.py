"""Can an admin declare what a reported tool promises, and does a change leave earlier calls as they were?"""

import pytest
from django.urls import reverse

from audit.models import Record
from sideeffects.models import Effect, ToolVersion
from sideeffects.transitions import RevokeClass
from tests import factories
from tests.factories import planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]
NEW = "/console/tools/new"
CRM = {
    "name": "crm.create_contact",
    "revoke_class": "governed_external",
    "target": "crm.example",
    "create": "DELETE /contacts/{id}",
    "update": 'POST /contacts/{id}/revert {"version": "{version}"}',
    "status_path": "/contacts/{id}",
    "stale_minutes": "90",
    "undo_minutes": "1440",
}


def version():
    return ToolVersion.objects.filter(tool__name="crm.create_contact").latest("number")


def test_a_tool_is_declared_and_a_change_is_a_new_version_for_calls_from_then_on(reader):
    admin, by = reader("admin"), planner()
    text = admin.send(NEW, **CRM)
    assert "Version 1 holds for calls from now on" in text
    assert "Never used: unproven" in text
    held = version().contract
    assert held["compensations"] == {"create": CRM["create"], "update": CRM["update"]}
    assert (held["stale_minutes"], held["undo_minutes"], held["status"]) == (90, 1440, "/contacts/{id}")
    first = factories.report(by, [factories.contact("c1")], arguments={"n": 1}).group
    address = reverse("console-tool", args=["crm.create_contact"])
    shown = admin.open(address)
    assert "DELETE /contacts/{id}" in shown
    changed = {name: value for name, value in CRM.items() if name != "name"} | {"create": "DELETE /people/{id}"}
    assert "Version 2 holds for calls from now on" in admin.send(address, **changed)
    assert "This is what was declared already; nothing was changed." in admin.send(address, **changed)
    second = factories.report(by, [factories.contact("c2")], arguments={"n": 2}).group
    pinned = [group.tool_version for group in (first, second) if group]
    assert [version.number for version in pinned if version] == [1, 2]
    assert Record.objects.filter(action="tool_declared", actor="user:admin").count() == 2
    none = {"revoke_class": "none", "reason": "It is printed", "create": "DELETE /x/{id}"}
    admin.send(address, **none)
    assert (version().contract["revoke_class"], version().contract["compensations"]) == ("none", {})
    assert set(Effect.objects.values_list("revoke_class", flat=True)) == {RevokeClass.EXTERNAL.value}


def test_what_cannot_be_meant_is_named_and_nothing_is_declared(reader):
    admin = reader("admin")
    faults = {
        "Say why, since it is shown instead of a button.": {"revoke_class": "none"},
        "Name the system that is asked.": {"target": ""},
        "Say for at least one operation what undoes it.": {"create": "", "update": ""},
        "it begins with none of": {"create": "GET /contacts/{id}"},
        "it asks for secret, which nothing knows": {"create": "DELETE /contacts/{secret}"},
        "its path leads upwards": {"status_path": "/../{id}"},
        "The program that runs here declares this tool": {"name": "project.create"},
        "Such a name cannot be told apart": {"name": "a\u202eb"},
    }
    for said, fault in faults.items():
        assert said in admin.send(NEW, status=422, **{**CRM, **fault})
    assert not ToolVersion.objects.filter(tool__name="crm.create_contact").exists()
    admin.send(NEW, **CRM)
    assert "declared already; change it on its page" in admin.send(NEW, status=422, **CRM)
    admin.open(reverse("console-tool", args=["project.create"]), status=404)
    admin.open(reverse("console-tool", args=["no.such"]), status=404)
    reader("alice").open(NEW, status=403)
