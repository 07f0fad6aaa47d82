"""Does the page of an action say exactly how far its requests have got, and take only decisions that are possible?"""

import pytest
from django.urls import reverse

from sideeffects.models import Effect, Request
from tests import factories
from tests.external import asked, bodies, clock, contact, go, registered, state
from tests.factories import later, person, planner

pytestmark = pytest.mark.django_db


def page_of(group, name="group"):
    return reverse(name, args=[group.pk])


@pytest.fixture
def crm(fake):
    registered(fake.url)
    return fake


def test_the_question_says_what_is_only_requested_and_that_nobody_knows_for_how_long(reader, crm):
    group = contact()
    alice = reader("alice")
    text = alice.read(page_of(group))
    assert "Ask crm.example to undo…" in text
    assert "Undo window: unknown, none was declared" in text
    text = alice.read(page_of(group, "group-revoke"))
    assert "Ask crm.example to undo this action?" in text
    assert "1 will only be requested of crm.example" in text
    assert "Undo window of 1: unknown." in text
    text = alice.send(page_of(group, "group-revoke"))
    assert "Not sent yet" in text
    assert "Compensation requested" not in text


@pytest.mark.both
def test_each_step_is_called_what_it_is(reader, crm, settings):
    settings.REQUEST_TRIES = 2
    group = contact()
    alice, request = reader("alice"), asked(group, now=clock())
    crm.decide = lambda _seen: None
    go(clock())
    text = alice.read(page_of(group))
    assert "Asked once, no usable answer yet" in text
    assert "Not sent yet" not in text
    assert "next try" in text
    go(clock() + (later(hours=2) - later()))
    assert state(request) == "unknown"
    text = alice.read(page_of(group))
    assert "Unknown: the request may or may not have arrived" in text
    assert "Needs a person" in text
    crm.decide = lambda _seen: (202, {}, b"")
    alice.send(page_of(group, "group-again"), requests=str(request.pk))
    go(clock() + (later(hours=3) - later()))
    text = alice.read(page_of(group))
    assert "Compensation requested. The outcome is in the target system asked" in text
    assert "crm.example accepted the request. Whether it is undone is known there, not here" in text
    assert "Waiting for crm.example" in text


def test_a_group_of_both_adds_up_and_hides_nothing(reader, crm):
    group = contact()
    request = asked(group)
    twin = Effect.objects.get(group=group)
    twin.pk, twin.position, twin.object_id, twin.state = None, 1, "c_2", "compensated"
    twin.save(force_insert=True)
    assert "Under way: 1 undone by the target's word, 1 not sent yet" in reader("alice").read(page_of(group))
    go()
    assert state(request) == "compensating"
    text = reader("alice").read(page_of(group))
    assert "Requested: 1 undone by the target's word, 1 waiting for crm.example" in text


def test_what_was_refused_is_asked_again_with_a_reason_where_it_is_anothers(reader, crm):
    group = contact()
    request = asked(group)
    crm.decide = lambda _seen: (409, {}, b"no, booked")
    go()
    address = page_of(group, "group-again")
    assert "Try again…" in reader("alice").read(page_of(group))
    text = reader("admin").send(address, requests=str(request.pk), status=422)
    assert "This belongs to someone else" in text
    text = reader("admin").send(address, requests=str(request.pk), reason="they called")
    assert "1 is asked again; no answer yet." in text
    assert bodies("asked_again")[0]["data"]["reason"] == "they called"
    text = reader("admin").send(address, requests=str(request.pk), reason="they called", status=422)
    assert "There is nothing here that you could have asked again now" in text
    assert Request.objects.filter(current=True).count() == 1


def test_a_word_needs_evidence_and_nothing_typed_is_lost(reader, crm):
    group = contact()
    request = asked(group)
    crm.decide = lambda _seen: (409, {}, b"no")
    go()
    alice, address = reader("alice"), page_of(group, "group-attest")
    answer = alice.client.post(address, {"requests": str(request.pk), "evidence": "Saw it gone at noon"})
    assert answer.status_code == 422
    assert "Saw it gone at noon" in answer.content.decode()
    text = alice.send(address, requests=str(request.pk), reason="seen", evidence="Saw it gone at noon")
    assert "Attested by alice, with evidence" in text
    assert "Outcome: not complete" in text
    assert "Saw it gone at noon" in text


def test_who_only_reads_or_sees_nothing_decides_nothing(reader, crm):
    group = contact()
    request = asked(group)
    crm.decide = lambda _seen: (409, {}, b"no")
    go()
    for name in ("group-again", "group-attest"):
        reader("bob").read(page_of(group, name), status=404)
        reader("bob").send(page_of(group, name), status=404)
        assert "There is nothing here that" in reader("auditor").read(page_of(group, name))
        reader("auditor").send(
            page_of(group, name), requests=str(request.pk), reason="seen", evidence="I say so", status=422
        )
    assert "Attest…" not in reader("auditor").read(page_of(group))
    assert state(request) == "refused"


def test_evidence_shows_each_try_and_the_answer_itself_to_admins_only(reader, crm):
    group = contact()
    request = asked(group)
    crm.decide = lambda _seen: (409, {}, b'{"token": "tok-4711", "why": "booked by Grace"}')
    go()
    attempt = request.attempts.get()
    for who, sees in (("alice", False), ("auditor", False), ("admin", True)):
        text = reader(who).read(page_of(group))
        assert "DELETE /contacts/c_1" in text
        assert f"jti {attempt.jti}" in text
        assert "alice, through this console" in text
        assert "409" in text
        assert attempt.digest[:12] in text
        assert ("booked by Grace" in text) is sees
        assert "tok-4711" not in text


def test_past_its_window_only_an_admin_may_ask(reader, crm):
    group = contact()
    Effect.objects.update(undo_expires_at=clock() - (later(hours=1) - later()))
    text = reader("alice").read(page_of(group))
    assert "Undo window over as declared since" in text
    assert "The undo window of 1 is over as declared; only an admin may still ask." in text
    assert "Ask crm.example to undo…" not in text
    assert "There is nothing to confirm" not in reader("alice").read(page_of(group, "group-revoke"))
    reader("alice").send(page_of(group, "group-revoke"), status=409)
    assert "Ask crm.example to undo…" in reader("admin").read(page_of(group))
    reader("admin").send(page_of(group, "group-revoke"), reason="the owner asked me to")
    assert Request.objects.count() == 1


def test_a_window_still_open_is_the_targets_word(reader, crm):
    group = contact()
    Effect.objects.update(undo_expires_at=clock() + (later(hours=3) - later()))
    markup = reader("alice").open(page_of(group))
    assert "crm.example</bdi> says undoable until" in markup
    assert 'data-age="close"' in markup
    assert "data-now=" in markup


def test_stale_is_said_though_no_sweep_has_run(reader, crm):
    group = contact()
    asked(group, now=clock() - (later(days=31) - later()))
    go(clock() - (later(days=31) - later()))
    text = reader("alice").read(page_of(group))
    assert "Stale: no word for 31 d" in text
    assert Request.objects.get().stale_since is None
    assert "Stale: unresolved for 31 d" in reader("alice").read("/")


def test_a_page_costs_the_same_with_one_member_and_with_thirty(reader, crm):
    def made(number):
        effects = [factories.contact(f"c{number}_{key}") for key in range(number)]
        contact(f"x{number}")
        group = factories.report(
            planner(), effects, tool="crm.example.create_contact", arguments={"many": number}
        ).group
        assert group is not None
        asked(group, by=person("alice"))
        go()
        return group

    one, many = made(1), made(30)
    alice = reader("alice")
    alice.queries(page_of(one))
    assert alice.queries(page_of(one)) == alice.queries(page_of(many))
