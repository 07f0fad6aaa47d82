"""Does a request go out once, come back as what it is, and never as more?"""

from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from audit import log
from sideeffects.declarations import Declared
from sideeffects.models import Attempt, Effect, Request
from sideeffects.presenters import views_of
from sideeffects.services import keys
from sideeffects.services.declare import declare_tool
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import TargetsOutOfReachError, revoke
from sideeffects.targets.local import MembersFailedError
from sideeffects.tools import REGISTRY, Contract, RegisteredTool, Written
from sideeffects.transitions import Operation, RevokeClass
from sideeffects.workspace.models import Note
from sideeffects.workspace.tools import create_note
from tests import factories
from tests.external import WORKER, asked, bodies, contact, go, registered, state
from tests.factories import NOW, later

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def test_a_revoke_asks_and_says_requested_and_never_revoked(fake):
    registered(fake.url)
    request = asked(contact())
    assert state(request) == "requesting"
    [told] = bodies("COMPENSATE")
    assert (told["outcome"], told["data"]["complete"]) == ("not sent", False)
    assert fake.seen == []
    go()
    assert [(one.method, one.path) for one in fake.seen] == [("DELETE", "/contacts/c_1")]
    assert fake.seen[0].headers["Idempotency-Key"] == str(request.pk)
    assert state(request) == "compensating"
    assert request.effect.state == "compensating"
    [_, settled] = bodies("COMPENSATE")
    assert (settled["outcome"], settled["data"]["complete"]) == ("requested", False)
    assert settled["data"]["asked_by"] == "user:alice"
    attempt = Attempt.objects.get()
    assert settled["data"]["attempts"][0]["jti"] == str(attempt.jti)
    assert attempt.status == 202


def test_the_token_names_who_asked_for_what_and_nothing_else(fake):
    registered(fake.url)
    request = asked(contact())
    go()
    token = fake.seen[0].headers["Authorization"].removeprefix("Bearer ")
    known: Any = {"keys": keys.published()}
    decoded = jwt.decode(token, KeySet.import_key_set(known), algorithms=["ES256"])
    assert decoded.header["typ"] == "at+jwt"
    claims = decoded.claims
    assert (claims["sub"], claims["owner"], claims["act"]["sub"]) == ("alice", "alice", "takeback")
    assert (claims["aud"], claims["scope"]) == ("https://crm.example", "compensate:crm.example.create_contact")
    assert claims["exp"] - claims["iat"] <= 120
    assert claims["authorization_details"] == [
        {"type": "compensation", "method": "DELETE", "path": "/contacts/c_1", "id": "c_1", "request": str(request.pk)}
    ]


def test_nothing_is_due_twice_and_a_second_revoke_asks_nothing(fake):
    registered(fake.url)
    group = contact()
    asked(group)
    go()
    assert go() == []
    asked(group, now=later(minutes=1))
    assert go(later(minutes=1)) == []
    assert len(fake.seen) == 1
    assert Request.objects.count() == 1
    assert len(bodies("COMPENSATE")) == 2


def test_an_unregistered_target_is_not_asked(fake):
    group = contact()
    with pytest.raises(TargetsOutOfReachError, match=r"no admin has registered crm\.example yet"):
        asked(group)
    assert not Request.objects.exists()


SHOP = Contract(
    revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "DELETE /contacts/{id}"}
)


@pytest.fixture
def mixed(monkeypatch):
    """Register a tool that makes a note here and was given the id of a contact there."""

    def make(arguments, call):
        [note] = create_note({"title": arguments["title"], "body": ""}, call)
        return [note, Written(type="contact", id="c_9", external=True)]

    monkeypatch.setitem(REGISTRY, "note.and_contact", RegisteredTool("note.and_contact", SHOP, None, make))

    def call():
        group = factories.run(factories.planner(), "note.and_contact", {"title": "x"}).group
        assert group is not None
        return group

    return call


def test_a_mixed_group_goes_together_and_is_named_by_its_weakest_member(fake, mixed):
    registered(fake.url)
    group = mixed()
    [result] = revoke(groups=[group.pk], by=factories.person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    answer = result.unwrap()
    assert answer.counts == {"revoked": 1, "not sent": 1}
    assert (answer.outcome.value, answer.complete, answer.standing.value) == ("not sent", False, "requested")
    go()
    [view] = views_of([group], by=factories.person("alice"))
    assert (view.standing.value, view.complete) == ("requested", False)
    fake.decide = lambda _seen: (404, {}, b"")
    row = Request.objects.get()
    assert bodies("COMPENSATE")[-1]["data"]["counts"] == {"revoked": 1, "requested": 1}
    assert row.state == "compensating"


def test_a_local_failure_stops_the_external_request(fake, mixed):
    group = mixed()
    Note.objects.update(owner=factories.user("bob"))
    [result] = revoke(groups=[group.pk], by=factories.person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    assert isinstance(result.refusal, MembersFailedError)
    assert not Request.objects.exists()
    assert go() == []
    assert fake.seen == []


def test_past_the_declared_undo_window_only_an_admin_may_still_ask(fake):
    registered(fake.url)
    group = contact()
    Effect.objects.update(undo_expires_at=later(minutes=10))
    with pytest.raises(TargetsOutOfReachError, match="undo window is over"):
        asked(group, now=later(minutes=11))
    assert asked(group, by=factories.person("admin"), reason="by phone", now=later(minutes=11)).state == "requesting"


def test_an_update_is_undone_by_its_own_compensation_with_body_and_version(fake):
    registered(fake.url)
    by = factories.planner()
    contact(by=by)
    declared = Declared("contact", "c/2", Operation.UPDATE, version="v7")
    group = factories.report(by, [declared], tool="crm.example.create_contact", arguments={"n": 2}).group
    assert group is not None
    asked(group)
    go()
    [seen] = fake.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/contacts/c%2F2/revert", b'{"version":"v7"}')
    assert seen.headers["If-Match"] == '"v7"'
    assert seen.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("which", ["ask", "settle"])
def test_when_the_log_cannot_be_written_nothing_changes(fake, monkeypatch, which):
    registered(fake.url)
    group = contact()
    request = asked(group) if which == "settle" else None
    keys.active(by=WORKER, now=NOW)

    def broken(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(log, "append", broken)
    if request is None:
        with pytest.raises(OSError, match="disk full"):
            asked(group)
        assert not Request.objects.exists()
        assert Effect.objects.get().state == "active"
    else:
        go()
        assert state(request) == "requesting"
        assert Attempt.objects.get().ended_at is None
        assert request.effect.state == "requesting"


def test_a_window_that_only_the_tool_declares_counts_from_the_landing():
    by = factories.planner()
    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL,
        target="erp.example",
        compensations={"create": "DELETE /a/{id}"},
        undo_minutes=90,
    )
    declare_tool(name="erp.book", contract=contract, by=by, now=NOW)
    factories.report(by, [factories.contact("said"), factories.contact("e")], tool="erp.book")
    assert set(Effect.objects.values_list("undo_expires_at", flat=True)) == {later(minutes=90)}
