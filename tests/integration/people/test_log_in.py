"""Who gets in, who is kept out, and what are they told?"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client, override_settings

from config import demo as demo_data
from config.forms import DEMO_MAIL
from tests import factories
from tests.factories import NOW, PASSWORD

pytestmark = pytest.mark.django_db


def try_to(client: Client, name: str, password: str = "wrong", **more: Any) -> Any:
    return client.post("/login", {"username": name, "password": password} | more)


def words_of(response: Any) -> str:
    """Return a page without what differs by chance: the form's token and the name typed."""
    page = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", response.content.decode())
    return re.sub(r"(?:value|data-now)=\"[^\"]*\"", "", page)


@pytest.fixture
def alice() -> Any:
    return factories.user("alice")


def test_a_person_gets_in_and_on_to_where_they_wanted_to_go(alice: Any):
    response = try_to(Client(), "alice", PASSWORD, next="/agents/?before=")
    assert response.status_code == 302
    assert response["Location"] == "/agents/?before="


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_log_in_leads_nowhere_else(alice: Any, elsewhere: str):
    assert "evil" not in try_to(Client(), "alice", PASSWORD, next=elsewhere)["Location"]
    assert "javascript" not in try_to(Client(), "alice", PASSWORD, next=elsewhere)["Location"]


def test_an_unknown_name_a_wrong_password_and_a_closed_account_are_told_the_same(alice: Any):
    closed = factories.user("bob")
    closed.is_active = False
    closed.save()
    answers = [try_to(Client(), "alice"), try_to(Client(), "nobody-of-that-name"), try_to(Client(), "bob", PASSWORD)]
    assert len({words_of(answer) for answer in answers}) == 1
    assert {answer.status_code for answer in answers} == {200}


def test_the_fifth_wrong_password_pauses_name_and_address_and_says_until_when(alice: Any):
    with time_machine.travel(NOW, tick=False) as clock:
        client = Client()
        assert [try_to(client, "alice").status_code for _ in range(5)] == [200, 200, 200, 200, 429]
        locked = try_to(client, "alice", PASSWORD)
        assert locked.status_code == 429
        assert locked["Retry-After"] == "900"
        assert "Try again in 15 minutes" in locked.content.decode()
        clock.shift(timedelta(minutes=14))
        assert try_to(client, "alice", PASSWORD).status_code == 429
        clock.shift(timedelta(minutes=15, seconds=1))
        assert try_to(client, "alice", PASSWORD).status_code == 302


def test_a_name_that_nobody_has_is_paused_the_same(alice: Any):
    known, unknown = Client(), Client()
    answers = [(try_to(known, "alice"), try_to(unknown, "nobody-of-that-name")) for _ in range(6)]
    assert [one.status_code for one, _ in answers] == [other.status_code for _, other in answers]
    assert words_of(answers[-1][0]) == words_of(answers[-1][1])


def test_a_stranger_cannot_lock_the_person_out_elsewhere(alice: Any):
    stranger = Client(REMOTE_ADDR="192.0.2.7")
    assert [try_to(stranger, "alice").status_code for _ in range(6)][-1] == 429
    assert try_to(Client(), "alice", PASSWORD).status_code == 302


def test_getting_in_forgives_earlier_mistakes(alice: Any):
    client = Client()
    for _ in range(4):
        try_to(client, "alice")
    assert try_to(client, "alice", PASSWORD).status_code == 302
    assert try_to(Client(), "alice").status_code == 200


def test_a_session_that_was_planted_is_not_the_one_that_gets_in(alice: Any):
    client = Client()
    planted = client.session
    planted["mark"] = "planted"
    planted.save()
    client.cookies["sessionid"] = str(planted.session_key)
    try_to(client, "alice", PASSWORD)
    assert client.cookies["sessionid"].value != planted.session_key
    assert Client(headers={"cookie": f"sessionid={planted.session_key}"}).get("/agents/").status_code == 302


def test_signing_out_takes_a_form_and_ends_the_session(alice: Any):
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    key = client.session.session_key
    assert client.get("/logout").status_code == 405
    assert client.post("/logout").status_code == 403
    Client(headers={"cookie": f"sessionid={key}"}).post("/logout")
    assert Client(headers={"cookie": f"sessionid={key}"}).get("/agents/").status_code == 302


def test_a_closed_account_is_out_at_once(alice: Any):
    client = Client()
    client.force_login(alice)
    assert client.get("/agents/").status_code == 200
    alice.is_active = False
    alice.save()
    assert client.get("/agents/").status_code == 302


def test_cookies_are_for_http_only_and_for_this_site():
    cookie = Client().get("/login").cookies["csrftoken"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


# -- The demonstration ----------------------------------------------------------------------------------------------


@pytest.fixture
def demo() -> Iterator[Any]:
    person = factories.user("alice")
    person.email = f"alice{DEMO_MAIL}"
    person.save()
    with override_settings(DEMO=True):
        yield person


def test_a_demo_person_is_entered_without_a_password_from_this_machine(demo: Any):
    client = Client()
    page = client.get("/enter").content.decode()
    assert "Enter as alice" in page
    assert "sees and takes back what agents did for them" in page
    assert "reads the log" not in page
    assert client.post("/enter", {"person": "alice"}).status_code == 302
    assert client.get("/agents/").status_code == 200


@pytest.mark.parametrize(
    "sent", [{"REMOTE_ADDR": "192.0.2.7"}, {"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, {"HTTP_FORWARDED": "for=x"}]
)
def test_from_elsewhere_or_through_a_proxy_there_is_no_such_page(demo: Any, sent: dict[str, str]):
    client = Client(**sent)  # type: ignore[arg-type]
    assert client.get("/enter").status_code == 404
    assert client.post("/enter", {"person": "alice"}).status_code == 404
    assert try_to(client, "alice", PASSWORD).status_code == 200


def test_without_demo_data_there_is_no_such_page_and_its_people_stay_out(demo: Any):
    with override_settings(DEMO=False):
        assert Client().get("/enter").status_code == 404
        assert Client().post("/enter", {"person": "alice"}).status_code == 404
        assert try_to(Client(), "alice", PASSWORD).status_code == 200
        assert "Enter as" not in Client().get("/login").content.decode()


def test_an_old_session_and_token_of_the_demonstration_open_nothing_after_it():
    seeded = demo_data.seed(now=NOW)
    session = Client()
    session.force_login(factories.user("alice"))
    agent = Client(headers={"authorization": f"Bearer {seeded.token}"})
    assert session.get("/agents/").status_code == 200
    assert agent.get("/api/v1/groups").status_code == 200
    demo_data.close()
    assert session.get("/agents/").status_code == 302
    assert agent.get("/api/v1/groups").status_code == 401
    with override_settings(DEMO=True):
        assert Client().post("/enter", {"person": "alice"}).status_code == 404
        renewed = demo_data.seed(now=NOW)
        assert Client().post("/enter", {"person": "alice"}).status_code == 302
        assert agent.get("/api/v1/groups").status_code == 401
        assert Client(headers={"authorization": f"Bearer {renewed.token}"}).get("/api/v1/groups").status_code == 200


def test_only_demo_people_are_entered(demo: Any):
    factories.user("bob")
    root = factories.user("root")
    root.email, root.is_superuser = f"root{DEMO_MAIL}", True
    root.save()
    for name in ("bob", "root", "nobody", "a\0"):
        assert Client().post("/enter", {"person": name}).status_code in {400, 404}


def test_entering_takes_a_form_of_this_site(demo: Any):
    assert Client(enforce_csrf_checks=True).post("/enter", {"person": "alice"}).status_code == 403
