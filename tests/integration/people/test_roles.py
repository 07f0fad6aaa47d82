"""Who gives and takes roles, and does the log say so?"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from audit.models import Record
from sideeffects import actors
from sideeffects.actors import ADMIN, AUDITOR
from sideeffects.models import Role
from sideeffects.services import roles
from tests import factories
from tests.factories import NOW, person, user

pytestmark = pytest.mark.django_db


def written() -> list[tuple[str, str, str]]:
    return list(Record.objects.order_by("pk").values_list("action", "target_id", "actor"))


@pytest.mark.both
def test_an_admin_gives_and_takes_a_role_and_both_stand_on_the_log():
    admin, bob = person("admin"), user("bob")
    row = roles.grant(user=bob, role=AUDITOR, by=admin, now=NOW)
    assert row.granted_by == "user:admin"
    assert actors.person(bob).is_auditor
    roles.withdraw(user=bob, role=AUDITOR, by=admin, now=NOW)
    assert not actors.person(bob).is_auditor
    assert written() == [("role_granted", str(bob.pk), "user:admin"), ("role_withdrawn", str(bob.pk), "user:admin")]


@pytest.mark.parametrize("who", ["alice", "auditor", "agent"])
def test_nobody_else_does(who: str):
    by = factories.planner("admin") if who == "agent" else person(who)
    person("admin")
    with pytest.raises(roles.RolesNotYoursToGiveError):
        roles.grant(user=user("bob"), role=ADMIN, by=by, now=NOW)
    with pytest.raises(roles.RolesNotYoursToGiveError):
        roles.withdraw(user=user("admin"), role=ADMIN, by=by, now=NOW)
    assert written() == []


def test_who_was_admin_when_the_page_was_opened_but_is_no_more_does_not():
    stale = person("admin")
    roles.grant(user=user("bob"), role=ADMIN, by=stale, now=NOW)
    roles.withdraw(user=stale.user, role=ADMIN, by=actors.person(user("bob")), now=NOW)
    with pytest.raises(roles.RolesNotYoursToGiveError):
        roles.withdraw(user=user("bob"), role=ADMIN, by=stale, now=NOW)


def test_the_last_admin_stays_whoever_asks():
    admin = person("admin")
    closed = user("bob")
    roles.grant(user=closed, role=ADMIN, by=admin, now=NOW)
    closed.is_active = False
    closed.save()
    for by in (admin, actors.system("command")):
        with pytest.raises(roles.LastAdminError):
            roles.withdraw(user=admin.user, role=ADMIN, by=by, now=NOW)
    assert actors.person(admin.user).is_admin


def test_a_role_held_is_not_given_again_and_one_not_held_not_taken():
    admin = person("admin")
    with pytest.raises(roles.RoleUnchangedError):
        roles.grant(user=admin.user, role=ADMIN, by=admin, now=NOW)
    with pytest.raises(roles.RoleUnchangedError):
        roles.withdraw(user=user("bob"), role=ADMIN, by=admin, now=NOW)
    with pytest.raises(roles.UnknownRoleError):
        roles.grant(user=admin.user, role="owner", by=admin, now=NOW)
    assert written() == []


@pytest.mark.both
@pytest.mark.parametrize("change", [roles.grant, roles.withdraw])
def test_when_the_record_fails_the_role_does_not_change(monkeypatch: pytest.MonkeyPatch, change: Any):
    admin = person("admin")
    held = set(Role.objects.values_list("user__username", "role")) | {("auditor", AUDITOR)}
    user("auditor", role=AUDITOR)
    user("bob")

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr("audit.log.append", fail)
    with pytest.raises(RuntimeError):
        change(user=user("bob" if change is roles.grant else "auditor"), role=AUDITOR, by=admin, now=NOW)
    assert set(Role.objects.values_list("user__username", "role")) == held


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_dismiss_each_other_at_once_leave_one():
    first = person("admin")
    user("second", role=ADMIN)
    second = actors.person(user("second"))

    def dismiss(pair: tuple[Any, Any]) -> bool:
        by, whom = pair
        try:
            roles.withdraw(user=whom.user, role=ADMIN, by=by, now=NOW)
        except (roles.RolesNotYoursToGiveError, roles.LastAdminError):
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(dismiss, [(first, second), (second, first)]))
    assert sorted(done) == [False, True]
    assert Role.objects.filter(role=ADMIN).count() == 1


def test_the_command_makes_the_first_admin(capsys: pytest.CaptureFixture[str]):
    user("bob")
    call_command("grant_role", "--user", "bob", "--role", "admin")
    assert actors.person(user("bob")).is_admin
    assert capsys.readouterr().out == "bob holds the role admin.\n"
    assert written() == [("role_granted", str(user("bob").pk), "system:command")]
    assert not Record.objects.filter(seal=None).exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--user", "nobody", "--role", "admin"], "no person called nobody"),
        (["--user", "admin", "--role", "admin"], "already holds"),
        (["--user", "admin", "--role", "admin", "--withdraw"], "last admin"),
        (["--user", "admin", "--role", "owner"], "invalid choice"),
    ],
)
def test_the_command_says_why_not(arguments: list[str], words: str):
    person("admin")
    with pytest.raises(CommandError, match=words):
        call_command("grant_role", *arguments)


# -- The page -------------------------------------------------------------------------------------------------------


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(person("admin").user)
    return client


def test_the_page_gives_and_takes_a_role_and_says_so(admin: Client):
    bob = user("bob")
    page = admin.post("/console/people/", {"person": bob.pk, "role": "auditor", "do": "grant"}, follow=True)
    assert "bob is now auditor." in page.content.decode()
    assert actors.person(bob).is_auditor
    page = admin.post("/console/people/", {"person": bob.pk, "role": "auditor", "do": "withdraw"}, follow=True)
    assert "bob is no longer auditor." in page.content.decode()
    assert not actors.person(bob).is_auditor


def test_the_page_refuses_to_take_the_last_admin(admin: Client):
    page = admin.post("/console/people/", {"person": user("admin").pk, "role": "admin", "do": "withdraw"})
    assert page.status_code == 409
    assert "last admin" in page.content.decode()


@pytest.mark.parametrize(
    "sent", [{}, {"person": 999_999, "role": "admin", "do": "grant"}, {"role": "root", "do": "grant"}, {"do": "x"}]
)
def test_nonsense_on_the_page_is_a_bad_request(admin: Client, sent: dict[str, Any]):
    assert admin.post("/console/people/", sent).status_code == 400


def test_the_list_costs_the_same_however_long_it_is(admin: Client, django_assert_num_queries: Any):
    with django_assert_num_queries(5):
        admin.get("/console/people/")
    for number in range(60):
        user(f"person-{number}", role=AUDITOR if number % 2 else "")
    with django_assert_num_queries(5):
        page = admin.get("/console/people/").content.decode()
    older = page.split('rel="next" href="')[1].split('"')[0]
    assert "person-59" in page
    assert "person-0<" not in page
    assert "person-0<" in admin.get(f"/console/people/{older}".replace("&amp;", "&")).content.decode()


def test_people_are_found_by_a_part_of_their_name(admin: Client):
    user("bob")
    page = admin.get("/console/people/?q=BO").content.decode()
    assert "bob" in page
    assert 'value="withdraw"' not in page
    assert "Nobody of that name" in admin.get("/console/people/?q=zz").content.decode()
