"""Does the console show everyone's actions, what is undecided, and what tools promise and have proven?"""

import pytest
from django.urls import reverse

from sideeffects.services.declare import declare_tool
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass
from tests import factories
from tests.factories import NOW, contact, planner

pytestmark = pytest.mark.django_db
PAGES = ["/console/", "/console/conflicts/", "/console/tools/"]


@pytest.mark.parametrize("address", PAGES)
def test_only_an_admin_opens_the_console(reader, address):
    for other in ("alice", "auditor"):
        reader(other).read(address, status=403)
    reader("admin").read(address)


def test_owner_and_acting_agent_stand_apart(reader):
    factories.project(planner("alice"), name="Hers")
    group = factories.project(planner("bob"), name="His")
    admin = reader("admin")
    text = admin.read("/console/")
    assert "Action Owner Acting When State" in text
    assert "alice planner" in text
    assert "bob planner" in text
    text = admin.read("/console/?owner=bob")
    assert "His" in text
    assert "Hers" not in text
    assert reverse("group-revoke", args=[group.pk]) in admin.open("/console/?owner=bob")


def test_an_open_difference_is_listed_with_what_differs(reader):
    by = planner()
    factories.crm(by)
    assert "No difference is open." in reader("admin").read("/console/conflicts/")
    factories.report(by, [contact("c_1")])
    for _ in range(2):
        factories.report(by, [contact("c_2")])
    text = reader("admin").read("/console/conflicts/")
    assert "1 repeat declared something else than what is held." in text
    assert "contact c_1 Only in the first: held here" in text
    assert "contact c_2 Only in the repeat: not held here" in text
    assert "2 times" in text


def test_a_tool_is_unproven_until_a_revoke_took_something_back(reader):
    by = planner()
    factories.crm(by)
    group = factories.project(by)
    factories.report(by, [contact("m")], tool="email.send", arguments={"to": "x"})
    text = reader("admin").read("/console/tools/")
    assert text.count("Never used: unproven") == 2
    assert "None is promised: a sent e-mail does not come back" in text
    assert "Nothing to prove" in text
    assert "create: DELETE /contacts/{id}" in text
    assert "No: no admin has registered crm.example" in text
    assert "Requested only: nothing would tell its end" in text
    assert "An adapter serves project, task" in text
    assert "Not registered: nothing is asked of it" in text
    alice, address = reader("alice"), reverse("group-revoke", args=[group.pk])
    for where in ("/", reverse("group", args=[group.pk]), address):
        assert "Way back of this tool: Never used: unproven" in alice.read(where)
    alice.send(address)
    text = reader("admin").read("/console/tools/")
    assert text.count("Never used: unproven") == 1
    assert "Worked on " in text
    factories.project(by, name="another")
    assert "Way back of this tool: Worked on " in alice.read("/")


@pytest.mark.parametrize("address", PAGES)
def test_a_list_costs_the_same_with_one_row_and_with_thirty(reader, address):
    admin = reader("admin")

    def fill(first, last):
        by = planner(agent=f"planner {first}")
        for number in range(first, last):
            contract = Contract(
                revoke_class=RevokeClass.EXTERNAL, target=f"t{number}", compensations={"create": "DELETE /x/{id}"}
            )
            declare_tool(name=f"tool{number}", contract=contract, by=by, now=NOW)
            for key in ("a", "b"):
                factories.report(by, [contact(key)], tool=f"tool{number}", conversation=f"c{number}")

    fill(0, 1)
    admin.queries(address)
    once = admin.queries(address)
    fill(1, 31)
    assert admin.queries(address) == once
