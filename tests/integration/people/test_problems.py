"""Is every refusal answered in its own words, and nothing that anyone sends a fault?"""

import json
import re
from typing import Any

import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.test import Client, override_settings
from django.urls import path
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config import access, errors
from config.errors import TABLE
from config.urls import urlpatterns as ours
from sideeffects import actors
from sideeffects.services import roles, tokens
from tests import factories

pytestmark = pytest.mark.django_db


class Item(serializers.Serializer[Any]):
    id = serializers.CharField(max_length=5)


class Body(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=20)
    effects = Item(many=True, required=False)


class Probe(APIView):
    """Reads what is sent, and what is in the address, and lets the database see it."""

    def get(self, request: Request) -> Response:
        return Response({"seen": seen(request.query_params.get("q", ""))})

    def post(self, request: Request) -> Response:
        body = Body(data=request.data)
        body.is_valid(raise_exception=True)
        return Response({"seen": seen(body.validated_data["name"]), "by": str(request.actor.party)})  # type: ignore[attr-defined]


def seen(text: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 WHERE %s = 'x'", [text])
        return cursor.fetchone() is not None


raised: list[Exception] = []


def refusing(_request: HttpRequest) -> HttpResponse:
    raise raised[-1]


class Refusing(APIView):
    def post(self, request: Request) -> Response:
        raise raised[-1]


class Urls:
    handler400, handler403 = "config.errors.bad_request", "config.errors.forbidden"
    handler404, handler500 = "config.errors.not_found", "config.errors.fault"
    urlpatterns = (
        path("api/v1/probe", Probe.as_view(), name="probe"),
        path("api/v1/refusing", Refusing.as_view(), name="refusing"),
        path("refusing", refusing, name="refusing-page"),
        path(
            "shown", lambda request: render(request, "refused.html", {"title": "x", "slug": "y"}), name="refusing-page"
        ),
        *ours,
    )


@pytest.fixture(autouse=True)
def _probe(monkeypatch: pytest.MonkeyPatch) -> Any:
    listed = {
        "probe": {
            "GET": access.Rule(frozenset({"owner"}), frozenset({"read"})),
            "POST": access.Rule(frozenset({"owner"}), frozenset({"record"})),
        },
        "refusing": {"POST": access.Rule(frozenset({"owner"}))},
        "refusing-page": {"GET": access.Rule(frozenset({"owner"})), "POST": access.Rule(frozenset({"owner"}))},
    }
    monkeypatch.setattr(access, "TABLE", {**access.TABLE, **listed})
    with override_settings(ROOT_URLCONF=Urls):
        yield


@pytest.fixture
def alice() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(factories.user("alice"))
    return client


def check_problem(response: Any, status: int, slug: str) -> dict[str, Any]:
    """Hold what RFC 9457 and the help page ask of every problem, and return it."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = json.loads(response.content)
    assert problem["status"] == status
    assert problem["type"] == f"/help#{slug}"
    assert problem["title"]
    assert "detail" in problem
    assert f'id="{slug}"' in Client().get("/help").content.decode()
    return problem


def send(client: Client, body: Any, **more: Any) -> Any:
    body = body if isinstance(body, bytes) else json.dumps(body)
    return client.generic("POST", "/api/v1/probe", body, **({"content_type": "application/json"} | more))


def test_every_bad_member_is_named(alice: Client):
    problem = check_problem(
        send(alice, {"name": "x" * 30, "effects": [{"id": "a"}, {"id": "abcdef"}, {}]}), 400, "invalid"
    )
    assert [error["member"] for error in problem["errors"]] == ["name", "effects[1].id", "effects[2].id"]
    assert all(error["detail"] for error in problem["errors"])


def test_a_body_of_another_shape_is_refused_by_name(alice: Client):
    check_problem(send(alice, [1]), 400, "invalid")
    check_problem(send(alice, None), 400, "invalid")


def test_each_framework_refusal_is_a_problem(alice: Client):
    check_problem(send(alice, b"{"), 400, "bad-body")
    check_problem(Client().get("/api/v1/probe"), 401, "signed-out")
    check_problem(alice.get("/api/v1/nothing"), 404, "not-found")
    check_problem(alice.put("/api/v1/probe"), 405, "method-not-allowed")
    check_problem(alice.get("/api/v1/probe", headers={"accept": "text/html"}), 406, "not-acceptable")
    check_problem(
        send(alice, b"name=x", content_type="application/x-www-form-urlencoded"), 415, "unsupported-media-type"
    )
    check_problem(send(alice, b"<x/>", content_type="text/xml"), 415, "unsupported-media-type")


def test_a_signed_out_answer_says_how_to_sign_in():
    assert Client().get("/api/v1/probe")["WWW-Authenticate"] == 'Bearer realm="takeback"'


def test_a_session_needs_the_form_token_of_its_page():
    client = Client(enforce_csrf_checks=True)
    client.force_login(factories.user("alice"))
    check_problem(send(client, {"name": "x"}), 403, "forbidden")


@pytest.mark.parametrize(
    "type_", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]
)
def test_a_body_that_is_too_large_is_refused_before_it_is_read(alice: Client, type_: str):
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000):
        csrf = Client(enforce_csrf_checks=True, raise_request_exception=False)
        csrf.force_login(factories.user("alice"))
        assert send(alice, b" " * 1001, content_type=type_).status_code in {413, 415}
        assert send(csrf, b"a=" + b"x" * 1001, content_type=type_).status_code in {400, 403, 413, 415}
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000):
        check_problem(send(alice, b'{"name": "' + b"x" * 1000 + b'"}'), 413, "too-large")


def test_a_page_form_that_is_too_large_is_413(alice: Client):
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000):
        client = Client(enforce_csrf_checks=True)
        client.get("/login")
        assert (
            client.post(
                "/login", b"username=" + b"x" * 2000, content_type="application/x-www-form-urlencoded"
            ).status_code
            == 413
        )


def test_what_a_refusal_knows_of_itself_stands_in_the_problem(alice: Client):
    raised.append(roles.LastAdminError(factories.user("admin")))
    problem = check_problem(alice.post("/api/v1/refusing"), 409, "last-admin")
    assert problem["user"] == "admin"
    assert problem["detail"] == "admin is the last admin. Make someone else admin first."


def test_the_same_refusal_is_a_page_with_a_way_back_and_nothing_lost(alice: Client):
    raised.append(roles.LastAdminError(factories.user("admin")))
    response = alice.post(
        "/refusing?a=b",
        {"reason": "because the <b>plan</b> changed", "csrfmiddlewaretoken": "t k", "password": "p w"},
        headers={"referer": "http://testserver/refusing?a=b"},
    )
    page = response.content.decode()
    assert response.status_code == 409
    assert "admin is the last admin" in page
    assert "because the &lt;b&gt;plan&lt;/b&gt; changed" in page
    assert 'href="http://testserver/refusing?a=b"' in page
    assert "p w" not in page
    assert "t k" not in page


@pytest.mark.parametrize("referer", ["", "https://evil.example/", "javascript:alert(1)", "//evil.example", "http://["])
def test_the_way_back_leads_nowhere_else(alice: Client, referer: str):
    page = alice.post("/nothing", headers={"referer": referer}).content.decode()
    assert ">Back<" not in page
    assert "evil" not in page


@pytest.mark.parametrize("address", ["/login", "/api/v1/probe"])
def test_a_host_that_is_not_ours_is_a_bad_request(address: str):
    assert Client(headers={"host": "evil.example"}).get(address).status_code == 400


def test_a_fault_tells_nothing_of_its_cause(alice: Client):
    raised.append(RuntimeError("password=hunter2 at line 3"))
    problem = check_problem(alice.post("/api/v1/refusing"), 500, "fault")
    assert "hunter2" not in json.dumps(problem)
    page = alice.get("/refusing")
    assert page.status_code == 500
    assert "A fault of ours" in page.content.decode()
    assert "hunter2" not in page.content.decode()


@pytest.mark.parametrize(
    ("exception", "status"),
    [(Http404("secret"), 404), (SuspiciousOperation("secret"), 400), (RequestDataTooBig("secret"), 413)],
)
def test_what_frameworks_raise_in_a_view_says_nothing_of_inside(alice: Client, exception: Exception, status: int):
    raised.append(exception)
    page = alice.get("/refusing")
    assert page.status_code == status
    assert "secret" not in page.content.decode()


def test_a_page_that_is_not_there_is_in_the_style_of_the_house(alice: Client):
    page = alice.get("/nothing")
    assert page.status_code == 404
    assert "or it is not yours to see" in page.content.decode()
    assert "My agents" in page.content.decode()


def test_a_form_without_its_token_is_refused_in_words():
    page = Client(enforce_csrf_checks=True).post("/login", {"username": "x", "password": "y"})
    assert page.status_code == 403
    assert "This form is no longer valid" in page.content.decode()


@pytest.mark.parametrize(
    "address",
    [
        "/login?next=%00",
        "/help?%00=1",
        "/api/v1/probe?q=%00",
        "/api/v1/%00",
        "/%00",
        "/agents/?before=%00",
        "/console/people/?q=a%00b",
    ],
)
def test_nul_in_an_address_is_a_bad_request(alice: Client, address: str):
    assert alice.get(address).status_code == 400


def test_nul_in_a_cookie_or_a_header_is_a_bad_request():
    client = Client()
    client.cookies.load('sessionid="\\000abcdefgh"')
    assert client.get("/agents/").status_code == 400
    assert client.get("/nothing").status_code == 400
    assert Client().get("/api/v1/probe", headers={"idempotency-key": "a\0b"}).status_code == 400


@pytest.mark.parametrize("address", ["/login", "/enter", "/console/agents/", "/console/people/"])
def test_nul_in_a_form_is_a_bad_request(address: str):
    client = Client()
    client.force_login(factories.person("admin").user)
    for sent in ({"username": "a\0b", "person": "\0", "agent": "\0"}, {"\0": "x"}):
        assert client.post(address, sent).status_code == 400


@pytest.mark.parametrize(
    "address",
    ["/agents/?before=x", "/console/people/?before=0", f"/console/people/?before={2**70}", "/console/agents/?before=1"],
)
def test_a_place_in_a_list_that_is_none_is_a_bad_request(address: str):
    client = Client()
    client.force_login(factories.person("admin").user)
    assert client.get(address).status_code == 400


@pytest.fixture
def agent() -> Client:
    _, secret = tokens.create(
        agent="planner",
        owner=factories.user("alice"),
        scopes=["read", "record"],
        by=actors.system("test"),
        now=factories.NOW,
    )
    return Client(headers={"authorization": f"Bearer {secret}"})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=80)
    | st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)).map(
        lambda value: json.dumps(value).encode()
    ),
    type_=st.sampled_from(
        [
            "application/json",
            "application/json; charset=utf-16",
            "text/plain",
            "",
            "multipart/form-data",
            "a/b/c",
            "application/x-www-form-urlencoded",
        ]
    ),
)
def test_no_body_makes_a_fault(agent: Client, body: bytes, type_: str):
    answer = send(agent, body, content_type=type_)
    assert answer.status_code < 500
    assert answer.status_code in {200, 400, 413, 415}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.binary(max_size=40))
def test_no_query_makes_a_fault(agent: Client, query: bytes):
    escaped = "".join(f"%{byte:02x}" for byte in query)
    assert agent.get(f"/api/v1/probe?q={escaped}").status_code in {200, 400}


def test_every_name_in_the_table_is_explained_once():
    slugs = [refusal.slug for refusal in errors.refusals()]
    assert len(slugs) == len(set(slugs))
    for refusal in TABLE.values():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", refusal.slug)
        assert 400 <= refusal.status < 500 or refusal.status == 503  # busy: the same again later may go through
        assert str(refusal.title)
