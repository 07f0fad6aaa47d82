"""What do pages say and ask where a person decides: about a difference, and about a call in flight?"""

import re

import pytest
from django.urls import reverse

from sideeffects import actors
from sideeffects.models import Group
from sideeffects.services import fence, stale
from sideeffects.services.record import Status
from tests import factories
from tests.factories import contact, later, planner, report

pytestmark = pytest.mark.django_db


@pytest.fixture
def conflict(db):
    factories.crm(by := planner())
    report(by, [contact("c_1")])
    return report(by, [contact("c_1"), contact("c_2")]).conflict


def opened() -> Group:
    factories.crm(by := planner())
    group = report(by, [], status=Status.IN_FLIGHT).group
    assert group is not None
    return group


def page_of(group):
    return reverse("group", args=[group.pk])


def decide(who, conflict, action, *, status=200, **fields):
    return who.send(reverse("conflict-resolve", args=[conflict.pk]), action=action, status=status, **fields)


def test_each_form_says_what_it_will_do_and_the_decision_is_said_for_ever(reader, conflict):
    alice, admin = reader("alice"), reader("admin")
    text = alice.read(page_of(conflict.group))
    for said in (
        "The call wrote this too: 1 object joins this action",
        "becomes an action of its own, of 2 objects",
        "1 object then stands in both",
        "The repeat counts for nothing",
    ):
        assert said in text
    assert "The owner or an admin decides about it." in reader("auditor").read(page_of(conflict.group))
    assert "Decide…" in admin.read("/console/conflicts/")
    assert "Say why" in decide(alice, conflict, "dismiss", status=422)
    assert "say why" in decide(admin, conflict, "adopt", status=422)
    decide(reader("bob"), conflict, "adopt", status=404)
    refused = decide(alice, conflict, "none", status=400)
    assert "This form says something that cannot be meant here: action." in refused
    text = decide(alice, conflict, "adopt", reason="the CRM shows it")
    assert "Adopted: it belongs to this action now. Nothing was revoked by that." in text
    assert "A repeat declared 2, held were 1; 1 adopted by you" in text
    assert "Declared 2, held 1; 1 adopted by alice" in text
    assert "alice adopted what a repeat of crm.create_contact declared: 1 joined, 0 changed." in text
    assert "Declared 2, held 1; 1 adopted by alice" in alice.read("/")
    assert "No difference is open." in admin.read("/console/conflicts/")
    assert "It had been decided so before." in decide(alice, conflict, "adopt")
    assert "This was decided before: adopted by you." in decide(alice, conflict, "split", status=409)
    assert "adopted by alice." in decide(admin, conflict, "split", status=409, reason="again")


def test_a_split_leads_to_and_fro(reader, conflict):
    text = decide(reader("alice"), conflict, "split")
    assert "it stands as an action of its own" in text
    conflict.refresh_from_db()
    apart = reader("alice").read(page_of(conflict.split_into))
    assert "Split by you from the action whose repeat it was" in apart
    assert "alice had a repeat of crm.create_contact stand by itself: 2 declared by agent:planner" in apart


def test_a_call_in_flight_offers_the_fence_and_says_what_came_of_it(reader):
    group = opened()
    alice, address = reader("alice"), reverse("group-fence", args=[group.pk])
    for place in (page_of(group), "/"):
        assert "Revoke it when it arrives…" in alice.read(place)
    refused = alice.send(reverse("group-revoke", args=[group.pk]), status=409)
    assert "Revoke it when it arrives…" in refused
    assert "Revoke it when it arrives…" in alice.read(reverse("group-revoke", args=[group.pk]))
    assert "checked again then" in alice.read(address)
    assert "It will be revoked when it arrives" in alice.send(address, reason="wrong customer")
    text = alice.read(page_of(group))
    assert "Fenced by alice: it is revoked when it arrives" in text
    assert "Lift the fence…" in text
    assert "To be revoked when it arrives: fence set by you" in text
    assert "Waits: revoked when it arrives" in reader("admin").read("/console/unresolved/")
    lift = reverse("group-fence-lift", args=[group.pk])
    assert "This belongs to someone else" in reader("admin").send(lift, status=422)
    reader("bob").read(lift, status=404)
    assert "The fence is lifted" in alice.send(lift)
    alice.send(address)
    by_system = actors.system("worker")
    Group.objects.update(state="landed", landed_at=later())
    assert fence.fire(by=by_system, now=later(days=1)) == 1
    text = alice.read(page_of(group))
    assert "The fence that alice had set did not fire: Not revocable: nothing was declared." in text


@pytest.mark.parametrize("state", ["open", "lost"])
def test_a_call_in_flight_ages_and_every_page_says_that_it_is_stale(reader, state):
    group = opened()
    Group.objects.update(state=state, ended_at=later() if state == "lost" else None)
    assert stale.flag(by=actors.system("beat"), now=later(hours=2)) == 1
    assert stale.flag(by=actors.system("beat"), now=later(hours=3)) == 0
    alice = reader("alice")
    for place in (page_of(group), "/"):
        assert re.search(r"Stale: no word for \d+ ", alice.read(place)), place
    assert "Stale: no word" in reader("admin").read("/console/unresolved/")
    assert "as stale" in alice.read(page_of(group))
