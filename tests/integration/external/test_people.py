"""Do people's decisions about requests stay theirs, and do admins' settings of targets hold?"""

import pytest

from sideeffects.compensations import BadCompensationError
from sideeffects.models import Notice, Request, Target
from sideeffects.policies import (
    ForAdminsOnlyError,
    ForPersonsOnlyError,
    NotFoundError,
    ReadOnlyError,
    ReasonRequiredError,
)
from sideeffects.services import notices, stale, targets
from sideeffects.services.again import again
from sideeffects.services.attest import EvidenceRequiredError, NotCurrentError, attest
from sideeffects.services.record import Status
from sideeffects.targets.addresses import HostRefusedError
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass, TransitionError
from tests import factories
from tests.external import WORKER, asked, bodies, contact, go, registered, state
from tests.factories import later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def refused(fake):
    registered(fake.url)
    request = asked(contact())
    fake.decide = lambda _seen: (409, {}, b"no")
    go()
    assert state(request) == "refused"
    return request


def word(request, by, *, reason="seen", evidence="I looked it up in the CRM", minutes=1):
    return attest(requests=[request.pk], reason=reason, evidence=evidence, by=by, now=later(minutes=minutes))


def test_a_persons_word_is_theirs_and_never_complete(fake):
    request = refused(fake)
    word(request, person("alice"))
    assert state(request) == "attested"
    [said] = bodies("attested")
    assert (said["data"]["reason"], said["data"]["evidence"]) == ("seen", "I looked it up in the CRM")
    last = bodies("COMPENSATE")[-1]
    assert (last["outcome"], last["data"]["complete"]) == ("attested", False)
    with pytest.raises(TransitionError):
        word(request, person("alice"))


def test_whose_word_it_may_be(fake):
    request = refused(fake)
    with pytest.raises(NotFoundError, match="request"):
        word(request, person("bob"))
    with pytest.raises(ReadOnlyError):
        word(request, person("auditor"))
    with pytest.raises(ForPersonsOnlyError):
        word(request, planner())
    for wrong in ({"evidence": "  "}, {"reason": "because"}):
        with pytest.raises(EvidenceRequiredError):
            word(request, person("alice"), **wrong)
    word(request, person("admin"))
    assert bodies("attested")[0]["actor"]["name"] == "admin"


def test_after_a_refusal_asking_again_is_a_new_request_with_a_new_key(fake):
    first = refused(fake)
    [second] = again(requests=[first.pk], reason="", by=person("alice"), now=later(minutes=1))
    assert second.pk != first.pk
    fake.decide = lambda _seen: (202, {}, b"")
    go(later(minutes=2))
    assert [seen.headers["Idempotency-Key"] for seen in fake.seen] == [str(first.pk), str(second.pk)]
    assert (state(first), first.current, state(second)) == ("refused", False, "compensating")
    with pytest.raises(NotCurrentError):
        again(requests=[first.pk], reason="", by=person("alice"), now=later(minutes=3))
    with pytest.raises(TransitionError):
        again(requests=[second.pk], reason="", by=person("alice"), now=later(minutes=3))


def test_after_an_unknown_fate_asking_again_keeps_the_key(fake, settings):
    settings.REQUEST_TRIES = 1
    registered(fake.url)
    request = asked(contact())
    fake.decide = lambda _seen: None
    go()
    assert state(request) == "unknown"
    with pytest.raises(ReasonRequiredError):
        again(requests=[request.pk], reason="", by=person("admin"), now=later(minutes=1))
    [same] = again(requests=[request.pk], reason="asked by phone", by=person("admin"), now=later(minutes=1))
    assert same.pk == request.pk
    fake.decide = lambda _seen: (202, {}, b"")
    go(later(minutes=2))
    assert len({seen.headers["Idempotency-Key"] for seen in fake.seen}) == 1
    assert state(request) == "compensating"
    assert bodies("asked_again")[0]["data"]["reason"] == "asked by phone"


def test_a_changed_address_suspends_open_requests_until_an_admin_resumes_them(fake):
    registered(fake.url)
    request = asked(contact())
    registered(fake.url, max_in_flight=3, now=later(minutes=1))
    assert Request.objects.get().suspended_at is None
    registered(fake.url, audience="https://elsewhere.example", now=later(minutes=2))
    assert go(later(minutes=3)) == []
    [_, changed] = bodies("target_changed")
    assert (changed["data"]["suspended"], changed["data"]["before"]["audience"]) == ("1", "https://crm.example")
    assert targets.resume(name="crm.example", by=person("admin"), now=later(minutes=4)) == 1
    go(later(minutes=5))
    assert state(request) == "compensating"


def test_only_admins_register_and_secrets_are_neither_kept_plain_nor_logged(fake):
    wanted = targets.Settings(base_url=fake.url, audience="a", callback_secret="whsec_c2VjcmV0")
    for by in (person("alice"), person("auditor"), planner()):
        with pytest.raises(ForAdminsOnlyError):
            targets.register(name="x", wanted=wanted, by=by, now=later())
    targets.register(name="x", wanted=wanted, by=person("admin"), now=later())
    row = Target.objects.get()
    assert "c2VjcmV0" not in row.callback_secret
    assert "c2VjcmV0" not in str(bodies("target_registered"))
    targets.register(
        name="x", wanted=targets.Settings(base_url=fake.url, audience="b"), by=person("admin"), now=later()
    )
    assert Target.objects.get().callback_secret == row.callback_secret


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"base_url": "http://169.254.169.254/"}, HostRefusedError),
        ({"base_url": "https://127.0.0.1"}, HostRefusedError),
        ({"audience": " "}, targets.BadTargetError),
        ({"max_in_flight": 0}, targets.BadTargetError),
        ({"stale_minutes": 0}, targets.BadTargetError),
        ({"mapping": {"done": "yes"}}, targets.BadTargetError),
        ({"mapping": {"other": []}}, targets.BadTargetError),
    ],
)
def test_what_cannot_be_meant_of_a_target_is_refused(fake, changed, error):
    with pytest.raises(error):
        registered(**{"url": fake.url, **({"url": changed["base_url"]} if "base_url" in changed else changed)})
    assert not Target.objects.exists()


def test_an_admin_declares_tools_that_run_elsewhere_and_what_was_called_before_keeps_its_contract(fake):
    registered(fake.url)
    group = contact()
    other = Contract(
        revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "POST /undo/{id}"}
    )
    targets.declare(tool="crm.example.create_contact", contract=other, by=person("admin"), now=later())
    asked(group)
    go()
    assert fake.seen[0].method == "DELETE"
    with pytest.raises(targets.ToolIsCodeError):
        targets.declare(tool="project.create", contract=other, by=person("admin"), now=later())
    bad = Contract(revoke_class=RevokeClass.EXTERNAL, target="x", compensations={"create": "GET /x"})
    with pytest.raises(BadCompensationError):
        targets.declare(tool="x", contract=bad, by=person("admin"), now=later())


def test_stale_is_flagged_once_however_late_and_however_often(fake, settings):
    """B3, B4."""
    registered(fake.url, stale_minutes=30)
    request = asked(contact())
    opened = factories.report(planner(), [], status=Status.IN_FLIGHT, arguments={"n": 9}).group
    go()
    assert opened is not None
    assert stale.flag(by=WORKER, now=later(minutes=29)) == 0
    assert stale.flag(by=WORKER, now=later(days=2)) == 2
    assert stale.flag(by=WORKER, now=later(days=2)) == 0
    request.refresh_from_db()
    opened.refresh_from_db()
    assert request.stale_since == later(minutes=30)
    assert opened.stale_since == later(minutes=60)
    assert len(bodies("went_stale")) == 2
    assert sorted(Notice.objects.values_list("kind", flat=True)) == ["stale", "stale"]


def test_each_person_gets_one_mail_and_not_one_a_row(fake, mailoutbox):
    for name in ("alice", "admin"):
        row = person(name).user
        row.email = f"{name}@example.com"
        row.save()
    registered(fake.url)
    for number in range(60):
        asked(contact(f"c_{number}"))
    fake.decide = lambda _seen: (409, {}, b"no")
    while go():
        pass
    assert notices.send(by=WORKER, now=later(minutes=1)) == 60
    assert notices.send(by=WORKER, now=later(minutes=2)) == 0
    assert sorted(mail.to[0] for mail in mailoutbox) == ["admin@example.com", "alice@example.com"]
    assert mailoutbox[0].subject == "Takeback: 60 to look at"
    assert "… and 10 more." in mailoutbox[0].body
    assert "refused: contact c_0 (crm.example): the target refused (409)" in mailoutbox[0].body


def test_what_nobody_with_an_address_would_read_stays_unsent_and_goes_once_somebody_has_one(fake, mailoutbox):
    registered(fake.url)
    asked(contact())
    fake.decide = lambda _seen: (409, {}, b"no")
    while go():
        pass
    assert notices.send(by=WORKER, now=later(minutes=1)) == 0
    assert Notice.objects.get().sent_at is None
    alice = person("alice").user
    alice.email = "alice@example.com"
    alice.save()
    assert notices.send(by=WORKER, now=later(minutes=2)) == 0  # what is unread waits, and holds nothing up
    assert notices.send(by=WORKER, now=later(days=1, minutes=2)) == 1
    assert [mail.to for mail in mailoutbox] == [["alice@example.com"]]
    assert Notice.objects.get().sent_at == later(days=1, minutes=2)
