"""Does the list of actions say what agents did, what may be done, and only what is known?"""

import re

import pytest
from django.urls import reverse

from sideeffects.lists import PAGE
from sideeffects.services.record import Status
from tests import factories
from tests.factories import contact, later, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def test_an_action_of_eleven_rows_says_so_and_offers_its_revoke(reader):
    group = factories.project(planner())
    text = reader("alice").read("/")
    assert "What agents did for you" in text
    assert "1 action," in text
    assert "by 1 agent" in text
    assert "Conversation “ c1 ” 1 action" in text
    assert re.search(r"Created project \d+ and 10 tasks", text)
    assert re.search("Q3 launch the agent.s words", text)
    assert "11 objects declared" in text
    assert "All 11 go together. Restorable from trash." in text
    assert "local_compensate" in text
    assert f'href="{reverse("group-revoke", args=[group.pk])}"' in reader("alice").open("/")


def test_every_time_is_machine_readable_and_has_its_zone(reader):
    factories.project(planner())
    markup = reader("alice").open("/")
    assert '<time datetime="2026-11-30T12:00:00+00:00"' in markup
    assert "30 Nov 2026, 12:00:00 UTC" in markup


def test_one_sees_only_ones_own_also_as_admin(reader):
    factories.project(planner(), name="Hers")
    for other in ("bob", "admin", "auditor"):
        assert "No agent has done anything for you yet." in reader(other).read("/")


def test_an_empty_list_says_what_to_do_first(reader):
    assert "An agent needs a token" in reader("bob").read("/")
    assert reverse("my-agents") in reader("bob").open("/")
    assert reverse("console-agents") in reader("admin").open("/")
    assert "import_transcript" in reader("bob").read("/")


def test_where_there_is_no_button_there_is_its_reason(reader):
    by = planner()
    factories.crm(by)
    factories.report(by, [contact("c_1")])
    factories.report(by, [contact("m_1", type_="message")], tool="email.send", arguments={"to": "x"})
    factories.report(by, [], arguments={"n": 2}, status=Status.IN_FLIGHT)
    text = reader("alice").read("/")
    assert "No admin has registered crm.example yet; nothing is asked there." in text
    assert "Not revocable: a sent e-mail does not come back" in text
    assert "In flight: cannot be revoked yet" in text
    assert "Called crm.create_contact" in text
    assert "1 waits on something" in text
    assert "Revoke…" not in text


def test_what_is_odd_stands_beside_the_action(reader):
    by = planner()
    factories.crm(by)
    factories.report(by, [contact("c_1")])
    factories.report(by, [contact("c_1"), contact("c_2")])
    for _ in range(2):
        factories.report(by, [contact("", type_="message")], tool="email.send", arguments={"to": "x"})
    text = reader("alice").read("/")
    assert "1 declared object is not held here" in text
    assert "Declared 2 times; whether it happened again is unknown" in text


def test_search_and_filters_narrow_and_stay_in_the_form(reader):
    by = planner()
    factories.project(by, name="Q3 launch", conversation="c1", run="r1")
    factories.project(by, name="Garden", conversation="c2", run="r2")
    alice = reader("alice")
    for query in ("q=garden", "conversation=c2", "run=r2", "tool=project.create&q=garden", "standing=standing&run=r2"):
        text = alice.read(f"/?{query}")
        assert "Garden" in text, query
        assert "Q3 launch" not in text, query
    assert 'value="garden"' in alice.open("/?q=garden")
    assert "No action meets these filters." in alice.read("/?agent=nobody")
    assert "2 actions" in alice.read("/?agent=planner")
    assert "No action meets these filters." in alice.read("/?standing=revoked")


def test_what_cannot_be_meant_is_said_and_kept(reader):
    factories.project(planner())
    alice = reader("alice")
    text = alice.read("/?standing=flying&q=launch", status=400)
    assert "cannot be meant" in text
    assert "flying is not one of the available choices" in text
    assert "Created project" not in text
    assert 'value="launch"' in alice.open("/?standing=flying&q=launch", status=400)
    assert '<option value="flying" selected>' in alice.open("/?standing=flying", status=400)
    assert "The place in the list is not one of ours." in alice.read("/?before=%22%3E", status=400)
    alice.read(f"/?q={'x' * 201}", status=400)


def test_pages_follow_one_another_by_key_without_gap_or_repeat(reader):
    by = planner()
    for number in range(PAGE + 5):
        factories.project(by, name=f"No {number:02}", tasks=0, now=later(minutes=number), conversation="c1")
    alice = reader("alice")
    first = alice.open("/?conversation=c1")
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older
    second = alice.open("/" + older[1].replace("&amp;", "&"))
    names = re.compile(r"No \d\d")
    seen = [name for page in (first, second) for name in dict.fromkeys(names.findall(page))]
    assert seen == [f"No {number:02}" for number in reversed(range(PAGE + 5))]
    assert f"{PAGE} of {PAGE + 5} actions here" in alice.read("/?conversation=c1")
    newer = re.search(r'rel="prev" href="([^"]+)"', second)
    assert newer
    assert names.findall(alice.open("/" + newer[1].replace("&amp;", "&"))) == names.findall(first)
    assert 'rel="next"' not in second


@pytest.mark.parametrize("address", ["/", "/console/"])
def test_a_list_costs_the_same_with_one_row_and_with_thirty(reader, address):
    by = planner()
    factories.crm(by)
    who = reader("alice" if address == "/" else "admin")
    factories.project(by, tasks=1)
    who.queries(address)
    once = who.queries(address)
    for number in range(30):
        factories.project(by, name=f"n{number}", tasks=3, conversation=f"c{number}")
    factories.report(by, [contact("c_1")])
    factories.report(by, [contact("c_2")])
    assert who.queries(address) == once
