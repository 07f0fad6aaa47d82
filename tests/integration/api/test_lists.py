"""Do lists narrow to what is asked, page without gaps, and cost the same however long they are?"""

from base64 import b64encode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sideeffects.models import Revocation, ToolVersion
from sideeffects.services import declare
from sideeffects.services.revoke import revoke
from sideeffects.tools import Contract
from sideeffects.transitions import RevokeClass
from tests import factories
from tests.factories import NOW, planner
from tests.integration.api.conftest import thing
from tests.integration.api.test_recording import problem

pytestmark = [pytest.mark.django_db, pytest.mark.both]
LISTS = ("groups", "effects", "trash", "tools", "targets")


def test_a_list_is_walked_page_by_page_without_gaps_while_it_grows(agent, person):
    sender, alice = agent(), person("alice")
    made = [sender.project(f"P{number}", tasks=0).json()["id"] for number in range(7)]
    page = alice.get("/api/v1/groups", limit=3).json()
    seen = [group["id"] for group in page["results"]]
    sender.project("later", tasks=0)
    while page["next"]:
        page = alice.get(page["next"]).json()
        seen += [group["id"] for group in page["results"]]
    assert seen == made[::-1]
    back = alice.get(page["previous"]).json()
    assert [group["id"] for group in back["results"]] == made[3:0:-1]


def test_groups_narrow_by_each_filter(agent, person):
    sender, alice = agent(), person("alice")
    sender.project("Q3 launch", tasks=1, run="r1", conversation="one")
    mail = sender.call("email.send", [thing("m1", type="message", title="Hello")], conversation="two").json()
    found = {
        name: {group["conversation"] for group in alice.get("/api/v1/groups", **{name: value}).json()["results"]}
        for name, value in {
            "tool": "email.send",
            "run": "r1",
            "q": "hello",
            "conversation": "two",
            "standing": "standing",
            "state": "open",
            "owner": "bob",
            "agent": "planner",
            "conflict": "open",
        }.items()
    }
    assert found == {
        "tool": {"two"},
        "run": {"one"},
        "q": {"two"},
        "conversation": {"two"},
        "standing": {"one", "two"},
        "state": set(),
        "owner": set(),
        "agent": {"one", "two"},
        "conflict": set(),
    }
    by = {"type": "message", "id": "m1", "class": "none", "state": "active", "group": mail["id"]}
    for name, value in by.items():
        results = alice.get("/api/v1/effects", **{name: value}).json()["results"]
        assert "m1" in [effect["id"] for effect in results]
        assert len(results) == (3 if name == "state" else 1)


def test_an_admin_narrows_to_one_owner(agent, person):
    agent("alice").project("A", tasks=0)
    agent("bob").project("B", tasks=0)
    for name in ("admin", "auditor"):
        groups = person(name).get("/api/v1/groups", owner="bob").json()["results"]
        assert [group["owner"] for group in groups] == ["bob"]


WRONG = [
    ("groups", "standing", "fine"),
    ("groups", "state", "x"),
    ("groups", "conflict", "maybe"),
    ("groups", "q", "x" * 201),
    ("groups", "q", ""),
    ("groups", "limit", ""),
    ("groups", "limit", "0"),
    ("groups", "limit", "101"),
    ("groups", "limit", "ten"),
    ("groups", "stnding", "revoked"),
    ("effects", "group", "7"),
    ("effects", "group", ""),
    ("effects", "class", "local"),
    ("effects", "type", "x" * 61),
    ("trash", "owner", "alice"),
    ("tools", "format", "xml"),
    ("targets", "limit", "-1"),
]


@pytest.mark.parametrize(("noun", "name", "value"), WRONG)
def test_a_parameter_that_cannot_be_meant_is_refused_by_name(person, noun, name, value):
    body = problem(person("alice").get(f"/api/v1/{noun}", **{name: value}), 400, "invalid")
    assert [error["member"] for error in body["errors"]] == [name]


def test_a_parameter_said_twice_is_refused(person):
    body = problem(person("alice").get("/api/v1/groups?tool=a&tool=b"), 400, "invalid")
    assert [error["member"] for error in body["errors"]] == ["tool"]


@pytest.mark.parametrize("noun", LISTS)
@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "cD14",
        "\xe9",
        b64encode(b"p=../..").decode(),
        b64encode(b"p=1;--").decode(),
        b64encode(b"p=99999999999999999999&r=1").decode(),
        b64encode(b"r=x").decode(),
    ],
)
def test_a_cursor_of_nowhere_is_refused(person, noun, cursor):
    body = problem(person("alice").get(f"/api/v1/{noun}", cursor=cursor), 400, "invalid")
    assert [error["member"] for error in body["errors"]] == ["cursor"]


def test_a_cursor_of_another_list_is_refused_or_finds_nothing(agent, person):
    for name in "abc":
        agent().project(name, tasks=0)
    declare.sync(by=planner(), now=NOW)
    admin = person("admin")
    for one in ("groups", "tools"):
        cursor = admin.get(f"/api/v1/{one}", limit=1).json()["next"].split("cursor=")[1].split("&")[0]
        for other in LISTS:
            assert admin.get(f"/api/v1/{other}?cursor={cursor}").status_code in {200, 400}


def one_more(by, number):
    """Make one more tool with its target, a conflict of it, and a project; return the last."""
    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL, target=f"t{number}", compensations={"create": "DELETE /x/{id}"}
    )
    declare.declare_tool(name=f"tool{number}", contract=contract, by=by, now=NOW)
    for key in ("1", "2"):
        factories.report(by, [factories.contact(key)], tool=f"tool{number}", conversation=number)
    return factories.project(by, name="P", tasks=1, conversation=number).pk


def test_no_list_costs_more_queries_with_more_rows(agent, person):
    by, admin = planner(), person("admin")
    counts: dict[str, list[int]] = {noun: [] for noun in LISTS}
    for rows in (1, 30):
        groups = [one_more(by, f"{rows}-{number}") for number in range(rows)]
        revoke(groups=groups, by=factories.person("alice"), now=NOW, reason="", trigger=Revocation.Trigger.API)
        for noun in LISTS:
            with CaptureQueriesContext(connection) as queries:
                shown = admin.get(f"/api/v1/{noun}", limit=100).json()["results"]
            assert len(shown) >= rows
            counts[noun].append(len(queries))
    assert {noun: (one, many) for noun, (one, many) in counts.items() if many > one} == {}


def test_tools_say_what_they_declare_and_what_is_proven(agent, person):
    sender = agent()
    declare.sync(by=planner(), now=NOW)
    factories.crm(planner())
    made = sender.project(tasks=0).json()

    def tools():
        return {tool["name"]: tool for tool in sender.get("/api/v1/tools").json()["results"]}

    assert tools()["project.create"]["proof"] == "Never used: unproven"
    person("alice").post(f"{made['url']}/revoke")
    known = tools()
    assert known["project.create"]["proof"].startswith("Worked on ")
    assert (known["project.create"]["runs"], known["project.create"]["class"]) == ("here", "local_compensate")
    assert known["email.send"] | {"declared_at": None, "version": 1} == {
        "name": "email.send",
        "version": 1,
        "class": "none",
        "reason": "a sent e-mail does not come back",
        "target": None,
        "compensations": {},
        "runs": "elsewhere",
        "blocked": False,
        "human": False,
        "proof": "Nothing to prove: it cannot come back",
        "proven": False,
        "entry_point": None,
        "entry_point_words": "None is promised: a sent e-mail does not come back",
        "came": "never used",
        "last_tried_at": None,
        "reach": "nowhere",
        "reach_words": "Nowhere",
        "declared_at": None,
    }
    assert known["crm.create_contact"]["compensations"] == {"create": "DELETE /contacts/{id}"}
    [target] = sender.get("/api/v1/targets").json()["results"]
    assert (target["name"], target["registered"]) == ("crm.example", False)


def test_only_the_version_in_force_is_listed(agent):
    contract = Contract(revoke_class=RevokeClass.NONE, reason="first")
    declare.declare_tool(name="x", contract=contract, by=planner(), now=NOW)
    declare.declare_tool(
        name="x", contract=Contract(revoke_class=RevokeClass.NONE, reason="second"), by=planner(), now=NOW
    )
    [tool] = [tool for tool in agent().get("/api/v1/tools").json()["results"] if tool["name"] == "x"]
    assert (tool["version"], tool["reason"]) == (2, "second")
    assert ToolVersion.objects.filter(tool__name="x").count() == 2
