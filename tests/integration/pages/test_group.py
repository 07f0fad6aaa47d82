"""Does the page of an action show its members, story, differences and evidence, and nothing that is not known?"""

import re

import pytest
from django.urls import reverse

from audit import log
from sideeffects import members
from sideeffects.declarations import Declared
from sideeffects.services.declare import declare_tool
from sideeffects.tools import Contract
from sideeffects.transitions import Operation, RevokeClass
from tests import factories
from tests.factories import NOW, contact, later, planner

pytestmark = pytest.mark.django_db


def page_of(group, **query):
    return reverse("group", args=[group.pk], query=query or None)


def test_members_stand_with_the_principal_first_each_with_its_own_sentence(reader):
    group = factories.project(planner(), tasks=2)
    text = reader("alice").read(page_of(group))
    assert "What this action covers 3 declared" in text
    assert text.index("principal · here · create") < text.index("Task 1")
    assert text.count("Deleted here, restorable") == 3
    assert text.count("Standing") >= 4


def test_owner_agent_source_and_contract_stand_apart(reader):
    by = planner()
    group = factories.project(by, tasks=1)
    text = reader("alice").read(page_of(group))
    assert "Owner alice" in text
    assert "Acting planner" in text
    assert "Source Executed here, recorded in the same transaction" in text
    assert "project.create version 1" in text
    reported = factories.report(by, [contact("c_1")], tool="odd.tool").group
    text = reader("alice").read(page_of(reported))
    assert "Reported by the agent: its word" in text
    assert "None: the tool was unknown here at the call" in text


@pytest.mark.both
def test_the_story_is_told_in_order_and_the_log_is_linked_only_for_who_may_open_it(reader):
    group = factories.project(planner(), tasks=1)
    reader("alice").send(reverse("group-revoke", args=[group.pk]))
    reader("alice").send(reverse("group-restore", args=[group.pk]))
    log.seal()
    text = reader("alice").read(page_of(group))
    told = ["agent planner began the call.", "landed: 2 declared", "revoked: 2 revoked.", "alice restored what"]
    assert [text.index(words) for words in told] == sorted(text.index(words) for words in told)
    assert "/audit/records/" not in reader("alice").open(page_of(group))
    for who in ("admin", "auditor"):
        assert "/audit/records/" in reader(who).open(page_of(group))
    assert "not sealed yet" not in text
    assert re.search(r"[0-9a-f]{64}", text)


def test_another_persons_action_is_not_there(reader):
    group = factories.project(planner())
    for name in ("group", "group-revoke", "group-restore"):
        text = reader("bob").read(reverse(name, args=[group.pk]), status=404)
        assert "Q3 launch" not in text
        reader("bob").send(reverse(name, args=[group.pk]), status=404 if name != "group" else 405)
    reader("alice").read("/groups/01a22e37-76a3-74ed-af81-baca5f3a6861/", status=404)


def test_a_second_reservation_under_the_same_call_is_plain_to_see(reader):
    by = planner()
    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL, target="airline", compensations={"create": "DELETE /reservations/{id}"}
    )
    declare_tool(name="book_reservation", contract=contract, by=by, now=NOW)
    for key in ("HATHAU", "HATHAV"):
        booked = [Declared("reservation", key, Operation.CREATE)]
        group = factories.report(by, booked, tool="book_reservation", conversation="airline-000-3").group
    text = reader("alice").read(page_of(group))
    assert "1 declared object is not held here" in text
    assert "A repeat of this call declared something else" in text
    assert "Cannot be called complete while the difference is open" in text
    assert "agent planner declared 1; held are 1. Seen once" in text
    assert "reservation HATHAU Only in the first: held here create not declared" in text
    assert "reservation HATHAV Only in the repeat: not held here not declared create" in text
    for said in ("1 object joins this action", "becomes an action of its own, of 1 object", "counts for nothing"):
        assert said in text


def test_a_changed_member_shows_both_sides(reader):
    by = planner()
    factories.crm(by)
    for version in ("1", "2"):
        group = factories.report(by, [Declared("contact", "c_1", Operation.CREATE, version=version)]).group
    text = reader("alice").read(page_of(group))
    assert "contact c_1 In both, changed version 1 version 2" in text
    assert "A repeat declared it differently" in text


NASTY = '</title><script>alert(1)</script>"\u202e\x1b\u2066{{x}}'


def test_an_agents_words_are_quoted_and_can_do_nothing_on_any_page(reader):
    by = planner()
    group = factories.project(by, name=NASTY, tasks=1, conversation=NASTY, run=NASTY)
    odd = [Declared("message", "id\u202e<s>", Operation.CREATE, title=NASTY, version=NASTY)]
    other = factories.report(by, odd, tool="email.send<i>\u202e", conversation=NASTY).group
    factories.report(
        by, [*odd, Declared("t<u>", "\u2067", Operation.DELETE, NASTY)], tool="email.send<i>\u202e", conversation=NASTY
    )
    reader("alice").send(reverse("group-revoke", args=[group.pk]), reason=NASTY)
    pages = ["/", "/trash/", page_of(group), page_of(other), reverse("group-restore", args=[group.pk])]
    for who, addresses in {
        "alice": pages,
        "admin": ["/console/", "/console/conflicts/", "/console/tools/", *pages[2:]],
    }.items():
        for address in addresses:
            markup = reader(who).open(address)
            assert "<script>alert" not in markup, address
            assert not re.search(r"<(s|i|u)>", markup), address
            assert not set(markup) & set("\u202e\x1b\u2066\u2067"), address
    assert "⟨U+202E⟩" in reader("alice").read("/")
    reader("alice").send(reverse("group-restore", args=[group.pk]))
    markup = reader("alice").open("/workspace/")
    assert "<script>alert" not in markup
    assert "\u202e" not in markup


@pytest.mark.both
def test_many_members_come_page_by_page_at_the_same_cost(reader):
    by = planner()
    small = factories.project(by, tasks=2, name="small")
    big = factories.project(by, tasks=members.PAGE * 2, name="big", now=later(minutes=1))
    alice = reader("alice")
    alice.queries(page_of(small))
    assert alice.queries(page_of(big)) == alice.queries(page_of(small))
    first = alice.read(page_of(big))
    assert f"up to {members.PAGE} of {members.PAGE * 2 + 1}" in first
    last = alice.read(page_of(big, members=members.PAGE * 2))
    assert f"Task {members.PAGE * 2}" in last
    assert f"Task {members.PAGE} " not in last
    for nonsense in ("x", "-1", "99999999999999999999"):
        alice.read(page_of(big, members=nonsense), status=400)
