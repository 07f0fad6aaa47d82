"""How do agents get their keys, what opens with them, and what when they are gone?"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from audit.models import Record, Subject
from sideeffects import actors
from sideeffects.actors import SCOPES
from sideeffects.models import Agent, AgentToken
from sideeffects.services import tokens
from tests import factories
from tests.factories import NOW, person, user

pytestmark = pytest.mark.django_db
SYSTEM = actors.system("test")


def make(**changes: Any) -> tuple[AgentToken, str]:
    asked = {"agent": "planner", "owner": user("alice"), "scopes": ["read"], "by": SYSTEM, "now": NOW} | changes
    return tokens.create(**asked)


@pytest.mark.both
def test_a_token_opens_for_whom_it_was_made():
    token, secret = make(scopes=["revoke-own", "read", "read"])
    found = tokens.authenticate(secret=secret, now=NOW)
    assert found == token
    assert found.owner == user("alice")
    assert found.scopes == ["revoke-own", "read"]


def test_the_secret_is_kept_nowhere():
    token, secret = make()
    kept = [
        str(value)
        for value in (*AgentToken.objects.values().get().values(), *Record.objects.values_list("body", flat=True))
    ]
    assert secret.rpartition("_")[2] not in " ".join(kept)
    assert token.secret_hash not in " ".join(Record.objects.values_list("body", flat=True))
    assert len(secret.split("_", 2)[2]) >= 43


@pytest.mark.parametrize("change", ["x", "", "-"])
def test_any_other_secret_opens_nothing(change: str):
    _, secret = make()
    for wrong in (
        secret[:-1] + change,
        change,
        f"tkb_{change}",
        secret.replace("tkb", "abc"),
        secret + "\0",
        "tkb_ü_x",
        "_" * 99,
    ):
        assert wrong == secret or tokens.authenticate(secret=wrong, now=NOW) is None


def test_it_ends_at_its_time_when_withdrawn_and_with_its_owners_account():
    _, secret = make(expires_at=NOW + timedelta(days=1))
    assert tokens.authenticate(secret=secret, now=NOW + timedelta(days=1) - timedelta(seconds=1))
    assert tokens.authenticate(secret=secret, now=NOW + timedelta(days=1)) is None
    token, secret = make()
    tokens.withdraw(tokens=[token.pk], by=actors.person(user("alice")), now=NOW)
    assert tokens.authenticate(secret=secret, now=NOW) is None
    _, secret = make(owner=user("bob"))
    bob = user("bob")
    bob.is_active = False
    bob.save()
    assert tokens.authenticate(secret=secret, now=NOW) is None


@pytest.mark.both
def test_use_is_stamped_at_most_once_a_minute_and_never_backwards(django_assert_num_queries: Any):
    token, secret = make()
    for seconds, expected in ((0, 0), (59, 0), (60, 60), (30, 60), (119, 60), (121, 121)):
        tokens.authenticate(secret=secret, now=NOW + timedelta(seconds=seconds))
        token.refresh_from_db()
        assert token.last_used_at == NOW + timedelta(seconds=expected)
    with django_assert_num_queries(1):
        tokens.authenticate(secret=secret, now=NOW + timedelta(seconds=125))


def test_making_and_withdrawing_stand_on_the_log_with_agent_and_owner():
    token, _ = make(by=person("admin"))
    tokens.withdraw(tokens=[token.pk], by=person("admin"), now=NOW)
    tokens.withdraw(tokens=[token.pk], by=person("admin"), now=NOW)
    assert list(Record.objects.order_by("pk").values_list("action", "actor", "owner")) == [
        ("agent_registered", "user:admin", ""),
        ("token_created", "user:admin", "user:alice"),
        ("token_withdrawn", "user:admin", "user:alice"),
    ]
    assert Subject.objects.filter(object_type="agent", object_id=str(token.agent_id)).count() == 3


@pytest.mark.parametrize("who", ["alice", "auditor", "agent"])
def test_only_an_admin_makes_tokens(who: str):
    by = factories.planner("admin") if who == "agent" else person(who)
    with pytest.raises(tokens.TokensNotYoursToMakeError):
        make(by=by)
    assert not Record.objects.exists()


@pytest.mark.parametrize("who", ["bob", "auditor", "agent"])
def test_a_token_is_withdrawn_by_its_owner_or_an_admin_and_is_not_there_for_others(who: str):
    token, secret = make()
    other, _ = make(owner=user("bob"))
    by = factories.planner("alice") if who == "agent" else person(who)
    with pytest.raises(tokens.NotYourTokenError):
        tokens.withdraw(tokens=[other.pk, token.pk] if who == "bob" else [token.pk], by=by, now=NOW)
    assert not AgentToken.objects.exclude(withdrawn_at=None).exists()
    assert tokens.authenticate(secret=secret, now=NOW)


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read", "everything"]}, "scopes"),
        ({"agent": " "}, "agent"),
        ({"agent": "a" * 101}, "agent"),
        ({"name": "a" * 101}, "name"),
        ({"expires_at": NOW}, "expires_at"),
    ],
)
def test_a_token_that_could_do_nothing_or_anything_is_not_made(changes: dict[str, Any], member: str):
    with pytest.raises(tokens.BadTokenRequestError) as caught:
        make(**changes)
    assert caught.value.errors[0]["member"] == member
    assert not Agent.objects.exists()


@pytest.mark.both
def test_when_the_record_fails_there_is_no_token_and_none_is_withdrawn(monkeypatch: pytest.MonkeyPatch):
    token, _ = make()

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr("audit.log.append", fail)
    with pytest.raises(RuntimeError):
        make(agent="other")
    with pytest.raises(RuntimeError):
        tokens.withdraw(tokens=[token.pk], by=person("admin"), now=NOW)
    assert list(AgentToken.objects.values_list("pk", "withdrawn_at")) == [(token.pk, None)]
    assert list(Agent.objects.values_list("name", flat=True)) == ["planner"]


# -- Over HTTP ------------------------------------------------------------------------------------------------------


def test_every_dead_or_wrong_token_is_answered_the_same():
    _, expired = make(expires_at=NOW + timedelta(days=1))
    withdrawn, gone = make()
    tokens.withdraw(tokens=[withdrawn.pk], by=SYSTEM, now=NOW)
    answers = [
        Client(headers={"authorization": f"Bearer {secret}"}).get("/api/v1/audit/records")
        for secret in (gone, "tkb_000000000000_x", "", "x y", "tkb_" + "9" * 5000)
    ]
    AgentToken.objects.filter(prefix=expired.split("_")[1]).update(expires_at=NOW - timedelta(days=365 * 20))
    answers.append(Client(headers={"authorization": f"Bearer {expired}"}).get("/api/v1/audit/records"))
    answers.append(Client(headers={"authorization": "Basic YTpi"}).get("/api/v1/audit/records"))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert {answer["WWW-Authenticate"] for answer in answers} == {'Bearer realm="takeback"'}


def test_a_bad_token_is_not_saved_by_a_session_beside_it():
    client = Client(headers={"authorization": "Bearer tkb_0_0"})
    client.force_login(person("auditor").user)
    assert client.get("/api/v1/audit/records").status_code == 401


def test_the_command_prints_the_token_alone_on_its_last_line(capsys: pytest.CaptureFixture[str]):
    user("alice")
    call_command(
        "create_agent_token", "--agent", "planner", "--owner", "alice", "--scopes", "record, read", "--days", "2"
    )
    printed = capsys.readouterr().out.splitlines()
    found = tokens.authenticate(secret=printed[-1], now=NOW)
    assert found is not None
    assert found.scopes == ["record", "read"]
    assert found.created_by == "system:command"
    assert printed[-1] not in "".join(printed[:-1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"--owner": "nobody"}, "no person called nobody"),
        ({"--scopes": "all"}, "Scopes are"),
        ({"--scopes": ","}, "Scopes are"),
        ({"--days": "0"}, "past"),
        ({"--days": "9999999999"}, "."),
        ({"--agent": "x" * 101}, "name"),
    ],
)
def test_the_command_says_why_not(changes: dict[str, str], words: str):
    user("alice")
    asked = {"--agent": "planner", "--owner": "alice", "--scopes": "read"} | changes
    with pytest.raises(CommandError, match=words):
        call_command("create_agent_token", *[item for pair in asked.items() for item in pair])


# -- Pages ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(person("admin").user)
    return client


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(user("alice"))
    return client


def test_an_admin_makes_a_token_and_sees_it_once(admin: Client):
    user("alice")
    page = admin.post(
        "/console/agents/",
        {"agent": "planner", "owner": "alice", "scopes": ["record", "read"], "days": "30", "name": "laptop"},
    )
    secret = page.content.decode().split('id="secret">')[1].split("<")[0]
    assert tokens.authenticate(secret=secret, now=NOW)
    assert "no-store" in page["Cache-Control"]
    later = admin.get("/console/agents/").content.decode()
    assert secret not in later
    assert secret.split("_")[1] in later


@pytest.mark.parametrize(
    "wrong",
    [{"owner": "nobody"}, {"scopes": []}, {"scopes": ["all"]}, {"days": "-1"}, {"days": "99999"}, {"agent": ""}],
)
def test_a_form_that_is_wrong_keeps_what_was_typed_and_says_what_is_wrong(admin: Client, wrong: dict[str, Any]):
    user("alice")
    typed = {"agent": "planner", "owner": "alice", "scopes": ["read"], "days": "30", "name": "my laptop"} | wrong
    page = admin.post("/console/agents/", typed)
    assert page.status_code == 422
    assert "my laptop" in page.content.decode()
    assert 'class="error"' in page.content.decode()
    assert not AgentToken.objects.exists()


def test_an_owner_sees_and_withdraws_what_acts_for_them_and_nothing_else(alice: Client):
    mine, secret = make()
    other, _ = make(owner=user("bob"), agent="writer")
    page = alice.get("/agents/").content.decode()
    assert mine.prefix in page
    assert other.prefix not in page
    assert alice.post(f"/agents/{other.pk}/withdraw").status_code == 404
    assert alice.post(f"/agents/{uuid4()}/withdraw").status_code == 404
    answer = alice.post(f"/agents/{mine.pk}/withdraw", follow=True).content.decode()
    assert "The token is withdrawn" in answer
    assert "Withdrawn" in answer
    assert tokens.authenticate(secret=secret, now=NOW) is None


def test_an_admin_sees_and_withdraws_anyones(admin: Client):
    token, secret = make()
    assert token.prefix in admin.get("/console/agents/").content.decode()
    assert admin.post(f"/console/agents/{token.pk}/withdraw").status_code == 302
    assert tokens.authenticate(secret=secret, now=NOW) is None


def test_names_of_agents_are_inert(admin: Client):
    make(agent="<script>x\u202eevil\x07", name="<b>")
    page = admin.get("/console/agents/").content.decode()
    assert "<script>x" not in page
    assert "\u202e" not in page.split("<main")[1]
    assert "⟨U+202E⟩" in page


@pytest.mark.parametrize("address", ["/console/agents/", "/agents/"])
def test_the_list_costs_the_same_however_long_it_is(admin: Client, django_assert_max_num_queries: Any, address: str):
    owner = user("admin")
    make(owner=owner)
    with django_assert_max_num_queries(5):
        admin.get(address)
    for number in range(60):
        make(owner=owner, agent=f"agent-{number}", scopes=SCOPES)
    with django_assert_max_num_queries(5):
        page = admin.get(address).content.decode()
    assert page.count("<tr role=") == 51
    older = page.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert admin.get(address + older).content.decode().count("<tr role=") == 12
