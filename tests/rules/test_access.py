"""Does every address answer each kind of asker as the access table says, and no other way?"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, path, reverse

from config import access
from config.access import TABLE, Rule, Verdict, judge
from plans.services.submit import submit
from sideeffects import actors
from sideeffects.actors import NOBODY, SCOPES
from sideeffects.services import tokens
from tests import batches, executions, external, factories

pytestmark = pytest.mark.django_db
PEOPLE = ("alice", "charlie", "admin", "auditor", "staff")
ASKERS = ("nobody", *PEOPLE, *SCOPES)


def patterns(resolver: URLResolver, namespace: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield every address with its namespace."""
    for item in resolver.url_patterns:
        if isinstance(item, URLResolver):
            yield from patterns(item, namespace or item.namespace or "")
        else:
            yield namespace, item


LISTED = [(namespace, item) for namespace, item in patterns(get_resolver())]
OURS = [item for namespace, item in LISTED if not namespace and item.name]
NAMES = {item.name for item in OURS}


class World:
    """People, one of everything that an address can name, and whoever asks."""

    def __init__(self) -> None:
        for name in PEOPLE:
            factories.person(name)
        staff = factories.user("staff")
        staff.is_staff = staff.is_superuser = True
        staff.save()
        self.group = factories.project(factories.planner("alice"), tasks=2)
        by = factories.planner("alice")
        factories.report(by, [factories.contact("c")], tool="x")
        differs = factories.report(by, [factories.contact("d")], tool="x")
        effect = self.group.effects.first()
        assert effect is not None
        self.effect = effect
        assert differs.conflict is not None
        self.conflict = differs.conflict
        self.token = factories.token(owner="alice")
        self.batch = batches.started(self.group)
        self.plan, _ = submit(body=b"{}", by=factories.person("alice"), now=factories.NOW)
        self.execution = executions.Run(by=factories.planner("alice")).id
        with override_settings(TARGET_HOSTS=frozenset({"127.0.0.1:9"})):
            external.registered("http://127.0.0.1:9")
            self.request = external.asked(external.contact())

    def kwargs(self, item: URLPattern) -> dict[str, Any]:
        """Return what the address names; every name has one real thing."""
        known = {
            "group": self.group.pk,
            "effect": self.effect.pk,
            "conflict": self.conflict.pk,
            "token": self.token.pk,
            "batch": self.batch.pk,
            "plan": self.plan.pk,
            "execution": self.execution,
            "step": "s1",
            "row": self.request.pk,
            "target": self.request.target.name,
            "uid": self.group.pk,
            "tool": "crm.example.create_contact",
            "object_id": "1",
            "id": "1",
            "app_label": "sideeffects",
            "content_type_id": 1,
            "url": "x",
        }
        return {name: known[name] for name in {**item.pattern.converters, **item.pattern.regex.groupindex}}

    def client(self, who: str) -> tuple[Client, actors.Actor]:
        """Return a client of this asker, and who that is."""
        client = Client(raise_request_exception=True)
        if who in PEOPLE:
            client.force_login(factories.user(who))
            return client, actors.person(factories.user(who))
        if who == "nobody":
            return client, NOBODY
        token, secret = tokens.create(
            agent="sweeper", owner=factories.user("admin"), scopes=[who], by=actors.system("test"), now=factories.NOW
        )
        return Client(headers={"authorization": f"Bearer {secret}"}), actors.agent(token)


@pytest.fixture(scope="module")
def made(one_transaction: None) -> World:
    return World()


@pytest.fixture
def world(made: World, db: None) -> World:
    return made


def refused_by_the_table(response: Any) -> Verdict | None:
    """Return which refusal of the table an answer is, or None: then a view has answered."""
    if response.status_code == 405:
        return Verdict.WRONG_METHOD
    if response.status_code == 401 or (response.status_code == 302 and response["Location"].startswith("/login?next=")):
        return Verdict.SIGNED_OUT
    if response.status_code == 403 and re.search("#(forbidden|for-persons-only)", response.content.decode()):
        return Verdict.FORBIDDEN
    return None


@pytest.mark.parametrize("who", ASKERS)
def test_every_address_answers_as_the_table_says(world: World, who: str):
    client, actor = world.client(who)
    wrong = []
    for item in OURS:
        url = address("", item, world)
        if actor.token and not url.startswith("/api/"):  # pages know no tokens, whatever their scope
            if who != "read":
                continue
            asked = NOBODY
        else:
            asked = actor
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            wanted = judge(str(item.name), method, asked)
            answered = client.generic(method, url, "{}", content_type="application/json")
            expected = None if wanted is Verdict.ALLOWED else wanted
            if refused_by_the_table(answered) is not expected or answered.status_code >= 500:
                wrong.append(f"{method} {url} as {who}: {answered.status_code}, the table says {wanted.value}")
            if item.name in {"login", "logout"}:
                client, _ = world.client(who)
    assert wrong == []


@pytest.mark.parametrize("who", ["nobody", "alice", "admin", "staff", "read"])
def test_djangos_own_admin_opens_to_its_staff_only(world: World, who: str):
    client, _ = world.client(who)
    lists = [
        item for namespace, item in LISTED if namespace == "admin" and str(item.name).endswith(("index", "_changelist"))
    ]
    wanted = {"nobody": Verdict.SIGNED_OUT, "read": Verdict.SIGNED_OUT, "staff": None}.get(who, Verdict.FORBIDDEN)
    answers = {item.name: refused_by_the_table(client.get(address("admin", item, world))) for item in lists}
    assert len(answers) > 10
    assert set(answers.values()) == {wanted}


def test_not_even_a_superuser_changes_our_rows_in_djangos_own_admin(world: World):
    client, _ = world.client("staff")
    ours = [
        model
        for app in ("sideeffects", "audit")
        for model in apps.get_app_config(app).get_models()
        if admin.site.is_registered(model)
    ]
    assert len(ours) > 10
    for model in ours:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        row = model._default_manager.first()
        assert client.get(f"{base}add/").status_code == 403
        if row is not None:
            assert client.get(f"{base}{row.pk}/change/").status_code == 200
            assert client.post(f"{base}{row.pk}/change/", {}).status_code == 403
            assert client.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_djangos_own_admin_shows_no_key_and_no_hash(world: World):
    client, _ = world.client("staff")
    shown = client.get(f"/admin/sideeffects/agenttoken/{world.token.pk}/change/").content.decode()
    assert world.token.prefix in shown
    assert world.token.secret_hash not in shown
    shown = client.get(f"/admin/sideeffects/group/{world.group.pk}/change/").content.decode()
    assert world.group.key not in shown
    assert world.group.fingerprint not in shown


def address(namespace: str, item: URLPattern, world: World) -> str:
    """Return the address of a pattern with real things in it."""
    kwargs = world.kwargs(item)
    if item.name is None:
        return f"/{namespace}/x"
    return reverse(f"{namespace}:{item.name}" if namespace else item.name, kwargs=kwargs)


def test_every_address_has_a_name_and_a_line_in_the_table():
    unnamed = [str(item.pattern) for namespace, item in LISTED if not namespace and not item.name]
    unlisted = [name for name in NAMES if name not in TABLE]
    spaces = {f"{namespace}:" for namespace, _ in LISTED if namespace}
    assert unnamed == []
    assert unlisted == []
    assert spaces <= TABLE.keys()


def test_every_api_view_asks_the_table_even_where_it_brings_permissions_of_its_own():
    views = [item for _, item in LISTED if str(item.name).startswith("api-")]
    assert all(access.TablePermission in item.callback.cls.permission_classes for item in views)  # type: ignore[attr-defined]


@pytest.mark.parametrize("who", ["admin", "auditor", "staff", "nobody", "read"])
def test_an_address_missing_from_the_table_is_refused_even_to_an_admin(world: World, who: str):
    def view(_request: Any) -> HttpResponse:
        return HttpResponse("open")

    unlisted = type("urls", (), {"urlpatterns": [path("x", view), path("api/v1/x", view, name="api-x"), *login_urls()]})
    with override_settings(ROOT_URLCONF=unlisted):
        client, _ = world.client(who)
        assert client.get("/x").status_code == 403
        assert client.get("/api/v1/x").status_code == 403
        assert client.get("/api/v1/x")["Content-Type"] == "application/problem+json"


def login_urls() -> list[Any]:
    """Return the addresses that every page links to."""
    return [
        item
        for item in get_resolver("config.urls").url_patterns
        if getattr(item, "name", "") in {"login", "logout", "help"}
    ]


def test_a_plain_view_under_the_api_does_not_slip_past_the_table(world: World):
    def view(_request: Any) -> HttpResponse:
        return HttpResponse("open")

    names = type("urls", (), {"urlpatterns": [path("api/v1/x", view, name="api-groups"), *login_urls()]})
    with override_settings(ROOT_URLCONF=names):
        assert world.client("nobody")[0].get("/api/v1/x").status_code == 401


# The table itself, said once more in words: a slip in it must not pass because the sweep reads the same slip.


@pytest.mark.parametrize("who", ["nobody", "alice", "charlie", "staff"])
def test_only_roles_open_console_and_audit(world: World, who: str):
    actor = world.client(who)[1]
    names = [name for name in TABLE if name.startswith(("console-", "audit-", "api-audit"))]
    assert len(names) > 8
    assert not any(judge(name, method, actor) is Verdict.ALLOWED for name in names for method in ("GET", "POST"))


def test_an_auditor_opens_no_console_page_and_may_post_nowhere_but_as_anyone(world: World):
    auditor = world.client("auditor")[1]
    assert not any(judge(name, "GET", auditor) is Verdict.ALLOWED for name in TABLE if name.startswith("console-"))


@pytest.mark.parametrize("scope", SCOPES)
def test_an_agent_restores_nothing_and_reads_no_log_whatever_its_owner_may(world: World, scope: str):
    agent = world.client(scope)[1]
    assert judge("api-group-restore", "POST", agent) is Verdict.FORBIDDEN
    assert judge("api-audit-records", "GET", agent) is Verdict.FORBIDDEN
    assert judge("admin:", "GET", agent) is Verdict.FORBIDDEN


def test_each_scope_opens_its_own_and_no_more(world: World):
    agents = {scope: world.client(scope)[1] for scope in SCOPES}
    opened = {
        scope: {name for name, methods in TABLE.items() if any(rule.allows(agent) for rule in methods.values())}
        for scope, agent in agents.items()
    }
    anyone = {name for name in TABLE if any(access.ANYONE in rule.roles for rule in TABLE[name].values())}
    taking_back = {"api-group-revoke", "api-group-fence", "api-effect-revoke"}
    assert opened["revoke-own"] - anyone == taking_back | {"api-batches", "api-batch", "api-batch-items"}
    assert opened["record"] - anyone == {name for name in TABLE if name.startswith("api-tool-call")}
    assert not {"api-tool-calls", "api-group-revoke"} & opened["read"]


def test_a_superuser_holds_no_role_by_that(world: World):
    staff = world.client("staff")[1]
    assert not staff.is_admin
    assert judge("console-people", "GET", staff) is Verdict.FORBIDDEN
    assert judge("admin:", "GET", staff) is Verdict.ALLOWED


def test_a_method_that_nobody_may_use_is_not_told_to_strangers():
    table = {"x": {"POST": Rule(frozenset({"owner"}))}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "TABLE", table)
        assert judge("x", "GET", NOBODY) is Verdict.SIGNED_OUT
        assert judge("x", "GET", actors.Actor(user=factories.user("bob"))) is Verdict.WRONG_METHOD


def test_who_is_signed_out_comes_back_to_where_they_wanted_to_go(world: World):
    client, _ = world.client("nobody")
    response = client.get("/console/people/?q=a&before=3")
    assert response["Location"] == "/login?next=/console/people/%3Fq%3Da%26before%3D3"
    answer = client.post(
        response["Location"], {"username": "admin", "password": factories.PASSWORD, "next": "/console/people/?q=a"}
    )
    assert answer["Location"] == "/console/people/?q=a"


def test_htmx_is_sent_to_the_log_in_as_a_whole_page(world: World):
    client, _ = world.client("nobody")
    response = client.get(
        "/agents/", headers={"hx-request": "true", "hx-current-url": "http://testserver/agents/?before="}
    )
    assert re.match(r"/login\?next=", response["HX-Redirect"])


@pytest.mark.parametrize(("who", "words"), [("alice", set()), ("admin", {"Console"}), ("auditor", {"Audit"})])
def test_the_navigation_shows_what_the_role_may_open(world: World, who: str, words: set[str]):
    page = world.client(who)[0].get("/help").content.decode()
    shown = set(re.findall(r"<a href=[^>]*>([^<]+)</a>", page.split("</nav>")[0]))
    built = {name for name, item in (("Console", "console-actions"), ("Audit", "audit-search")) if item in NAMES}
    assert shown & {"Console", "Audit"} == ({"Console", "Audit"} if who == "admin" else words) & built
    assert "My agents" in shown


def test_health_checks_ask_no_database_who_asks(django_assert_num_queries: Any, world: World):
    client, _ = world.client("alice")
    with django_assert_num_queries(0):
        client.head("/login-which-is-no-address\0")
