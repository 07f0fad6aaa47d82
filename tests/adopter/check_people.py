"""Do people who log in by mail, with UUIDs for keys and no first names, get everywhere? Run by `test_adopter`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from audit import log
from audit.models import Record
from config import checks, demo
from config.checks import State
from config.forms import DEMO_MAIL
from sideeffects import actors, people
from sideeffects.models import AgentToken, Group, Role
from sideeffects.services import notices, purge, tokens
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import revoke
from tests import factories
from tests.executions import six
from tests.external import WORKER
from tests.factories import NOW, PASSWORD, SCOPES, person, planner, user

pytestmark = [pytest.mark.django_db, pytest.mark.both]
DATA = Path(__file__).parents[1] / "data"
ALICE = "alice@example.org"


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(person(name).user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def command(*words: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def test_the_help_desk_is_alone_here_with_its_own_people():
    assert not apps.is_installed("sideeffects.workspace")
    assert get_user_model()._meta.label == "adopter.Member"


def test_a_person_logs_in_by_mail():
    user("alice")
    assert Client().post("/login", {"username": ALICE, "password": PASSWORD}).status_code == 302
    wrong = Client().post("/login", {"username": ALICE, "password": "wrong"})
    assert wrong.status_code == 200
    assert "Mail" in Client().get("/login").content.decode()


def test_commands_name_people_by_mail():
    user("alice")
    secret = command("create_agent_token", agent="planner", owner=ALICE, scopes="record,read").splitlines()[-1]
    assert AgentToken.objects.get().owner == user("alice")
    command("grant_role", user=ALICE, role="admin")
    assert Role.objects.get().user == user("alice")
    file, tools = str(DATA / "airline-transcript.jsonl"), str(DATA / "airline-tools.toml")
    figures = json.loads(command("import_transcript", file, tools=tools, owner=ALICE, json=True))
    assert figures["groups"] == Group.objects.filter(owner=user("alice")).count() > 0
    listed = Client().get(
        "/api/v1/groups", headers={"Authorization": f"Bearer {secret}"}, query_params={"owner": ALICE}
    )
    assert listed.status_code == 200
    assert checks.demo(NOW)[0] is State.OK


def test_the_demonstration_can_be_entered(settings):
    settings.DEMO = True
    people_ = {name: demo._person(name, role, now=NOW) for name, role in demo.PEOPLE.items()}
    assert people_["alice"].mail == f"alice{DEMO_MAIL}"
    page = Client().get("/enter").content.decode()
    assert f"Enter as alice{DEMO_MAIL}" in page
    client = Client()
    assert client.post("/enter", {"person": f"alice{DEMO_MAIL}"}).status_code == 302
    assert client.get("/").status_code == 200
    demo.close()
    assert not get_user_model()._default_manager.filter(is_active=True).exists()


def test_the_demonstration_is_not_begun_without_what_it_is_told_with(settings):
    settings.DEMO = True
    with pytest.raises(CommandError, match="Add --no-demo"):
        command("up")


def test_every_page_and_every_list_opens():
    group = factories.run(planner(), "ticket.open", {"subject": "It is broken", "replies": ["We look"]}).group
    assert group is not None
    log.seal()
    record = Record.objects.latest("id")
    admin, auditor, alice = signed_in("admin"), signed_in("auditor"), signed_in("alice")
    pages = ("console-actions", "console-agents", "console-people", "console-tools", "console-unresolved")
    for client, address in [
        *((admin, reverse(page)) for page in (*pages, "console-conflicts", "console-targets")),
        *((alice, reverse(page)) for page in ("actions", "trash", "plans", "my-agents")),
        *((alice, reverse("group", args=[group.pk])), (admin, reverse("group", args=[group.pk]))),
        *((admin, f"{reverse('console-actions')}?owner={ALICE}"), (admin, f"/api/v1/groups?owner={ALICE}")),
        (auditor, reverse("audit-record", args=[record.uid])),
        (auditor, f"{reverse('audit-search')}?owner=user:{ALICE}"),
    ]:
        response = client.get(address)
        assert response.status_code == 200, (address, response.content)
    assert ALICE in admin.get(f"{reverse('console-actions')}?owner={ALICE}").content.decode()
    assert ALICE in auditor.get(f"{reverse('audit-search')}?owner=user:{ALICE}").content.decode()


def test_plans_are_proposed_and_begun_for_them():
    factories.crm(planner())
    _, secret = tokens.create(
        agent="planner", owner=user("alice"), scopes=SCOPES, by=actors.system("test"), now=factories.NOW
    )
    agent = Client(headers={"authorization": f"Bearer {secret}"})
    with time_machine.travel(NOW, tick=False):
        made = agent.post("/api/v1/plans", json.dumps(six()), content_type="application/json")
        assert (made.status_code, made.json()["owner"]) == (201, ALICE)
        begun = agent.post(f"/api/v1/plans/{made.json()['id']}/executions", "{}", content_type="application/json")
        assert begun.status_code == 201
    assert signed_in("alice").get(reverse("plans")).status_code == 200


def test_a_mail_goes_to_the_address_that_is_the_name():
    group = factories.run(planner(), "ticket.open", {"subject": "It is broken"}).group
    assert group is not None
    revoke(groups=[group.pk], by=person("alice"), now=NOW, reason="", trigger=Trigger.CLICK)
    assert purge.announce(by=WORKER, now=factories.later(days=28)) == 1
    assert notices.send(by=WORKER, now=factories.later(days=28)) == 1
    assert [mailed.to for mailed in mail.outbox] == [[ALICE]]


def test_people_are_listed_found_and_given_roles():
    admin = signed_in("admin")
    for number in range(people.PAGE + 5):
        user(f"m{number}")
    url, seen = reverse("console-people"), set()
    before: Any = None
    while True:
        page = people.everyone(before=before)
        seen |= {row.pk for row in page.rows}
        assert admin.get(url, {"before": str(before)} if before else {}).status_code == 200
        if page.before is None:
            break
        before = page.before
    assert len(seen) == people.PAGE + 6
    assert "m7@example.org" in admin.get(url, {"q": "M7@"}).content.decode()
    assert admin.get(url, {"before": "7"}).status_code == 400
    asked = {"person": str(user("m7").pk), "role": "auditor", "do": "grant"}
    assert admin.post(url, asked).status_code == 302
    assert Role.objects.filter(user=user("m7"), role="auditor").exists()
    assert admin.post(url, asked | {"person": "7"}).status_code == 400
    made = admin.post(reverse("console-agents"), {"agent": "planner", "owner": ALICE, "scopes": ["read"]})
    assert made.status_code == 422  # nobody of that name yet
    user("alice")
    made = admin.post(reverse("console-agents"), {"agent": "planner", "owner": ALICE, "scopes": ["read"]})
    assert (made.status_code, AgentToken.objects.get().owner) == (200, user("alice"))


def test_a_name_as_long_as_mail_addresses_can_be_fits_everywhere():
    long = f"{'a' * 64}@{'b' * 180}.org"
    owner = get_user_model()._default_manager.create(mail=long, password="x")
    by = planner()
    by.token.owner = owner  # type: ignore[union-attr]  # (an agent has one)
    by.token.save()  # type: ignore[union-attr]
    group = factories.run(type(by)(user=owner, token=by.token), "ticket.open", {"subject": "Long"}).group
    assert group is not None
    client = Client()
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(f"/api/v1/groups/{group.pk}/revoke", {"reason": ""}, content_type="application/json")
    assert (answer.status_code, answer.json()["complete"]) == (200, True)
    assert (
        client.post(f"/api/v1/groups/{group.pk}/restore", {"reason": ""}, content_type="application/json").status_code
        == 200
    )
    assert client.get(reverse("group", args=[group.pk])).status_code == 200


def test_staff_see_the_tables_in_djangos_admin():
    factories.run(planner(), "ticket.open", {"subject": "It is broken"})
    staff = get_user_model()._default_manager.create_superuser("root@example.org", PASSWORD)  # type: ignore[attr-defined]
    client = Client()
    client.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
    for model in ("group", "effect", "role", "agenttoken", "revocation"):
        assert client.get(reverse(f"admin:sideeffects_{model}_changelist")).status_code == 200
    assert client.get(reverse("admin:sideeffects_group_change", args=[Group.objects.get().pk])).status_code == 200
