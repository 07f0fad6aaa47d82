"""Is a TOOLS.toml read strictly, and is each fault named with what is right?"""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sideeffects import toolfiles
from sideeffects.toolfiles import BadToolFileError
from sideeffects.transitions import Operation, RevokeClass

few = settings(max_examples=25)  # every one of them is small, and there are many

AIRLINE = (Path(__file__).parents[1] / "data" / "airline-tools.toml").read_text()
TARGET = '[targets.airline]\nbase_url = "https://airline.example/api"\naudience = "https://airline.example"\n'
BOOK = {
    "class": "governed_external",
    "target": "airline",
    "operation": "create",
    "type": "reservation",
    "id": "/reservation_id",
    "revoke": "DELETE /reservations/{id}",
    "failure": "Error",
    "title": "Booked {arguments.origin} to {arguments.destination}",
}


def toml(changes=None, *, target=TARGET):
    members = {**BOOK, **(changes or {})}
    lines = [f"{name} = {value!r}" for name, value in members.items() if value is not None]
    return "\n".join([target, "[tools.book]", *lines])


def faults(text):
    with pytest.raises(BadToolFileError) as refused:
        toolfiles.read(text)
    return refused.value.faults


def test_a_tool_is_read_as_it_stands():
    read = toolfiles.read(toml())
    tool = read.tools["book"]
    assert read.targets["airline"].base_url == "https://airline.example/api"
    assert (tool.revoke_class, tool.operation) == (RevokeClass.EXTERNAL, Operation.CREATE)
    assert (tool.target, tool.type, tool.revoke) == ("airline", "reservation", "DELETE /reservations/{id}")
    assert tool.failed("Error: no seats")
    assert not tool.failed("No Error")


def test_the_airlines_file_is_good():
    assert len(toolfiles.read(AIRLINE).tools) == 7


def test_a_tool_of_class_none_needs_no_more_than_its_reason():
    tool = toolfiles.read('[tools.x]\nclass = "none"\nreason = "sent is sent"').tools["x"]
    declared = tool.declared("x", "whatever")
    assert (tool.revoke_class, declared.type, declared.id) == (RevokeClass.NONE, "x", "")
    assert not tool.failed("Error")


def test_of_a_tool_that_the_file_does_not_name_nothing_is_known():
    tool = toolfiles.read(AIRLINE).tool("search")
    assert (tool.revoke_class, tool.reason) == (RevokeClass.NONE, "")
    assert tool.declared("search", "{}").type == "search"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"class": None}, "tools.book.class: missing; right are governed_external, none"),
        ({"class": "external"}, "tools.book.class: 'external' is no class; right are governed_external, none"),
        ({"class": "local_compensate"}, "tools.book.class: what ran elsewhere is never local_compensate"),
        ({"class": "none", "revoke": None}, "tools.book.reason: missing"),
        ({"class": "none", "reason": "x"}, "tools.book.revoke: a tool of class none has no way back"),
        ({"target": "hotel"}, "tools.book.target: 'hotel' is not described; right are airline"),
        ({"target": None}, "tools.book.target: missing"),
        ({"operation": None}, "tools.book.operation: missing"),
        ({"operation": "make"}, "tools.book.operation: 'make' is none; right are create, delete, update"),
        ({"type": None}, "tools.book.type: missing"),
        ({"type": "x" * 61}, "tools.book.type: right are at most 60 characters"),
        ({"id": None}, "tools.book.id: missing; right is the JSON pointer"),
        ({"id": "reservation_id"}, "tools.book.id: 'reservation_id' is no JSON pointer"),
        ({"id": "/a~2"}, "tools.book.id: '/a~2' is no JSON pointer"),
        ({"revoke": "/reservations/{id}"}, "tools.book.revoke: '/reservations/{id}' is no request"),
        ({"revoke": "GET /reservations/{id}"}, "tools.book.revoke: 'GET"),
        ({"revoke": "DELETE /r/{arguments}"}, "tools.book.revoke: 'DELETE /r/{arguments}' is no request"),
        ({"revoke": "DELETE https://other.example/{id}"}, "tools.book.revoke: 'DELETE https"),
        ({"title": "Booked {origin}"}, "tools.book.title: right are texts and members of the arguments"),
        ({"title": "Booked {arguments.x:>9999999}"}, "tools.book.title"),
        ({"title": "Booked {arguments.x!r}"}, "tools.book.title"),
        ({"title": "Booked {"}, "tools.book.title"),
        ({"failure": ""}, "tools.book.failure: right is a text that is not empty"),
        ({"failure": 7}, "tools.book.failure: right is a text that is not empty"),
        ({"failed": "Error"}, "tools.book.failed: no such member; right are class, target"),
        ({"reason": "x" * 501}, "tools.book.reason: right are at most 500"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_named_with_what_is_right(changes, named):
    assert [fault[: len(named)] for fault in faults(toml(changes))] == [named]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[tools", "This is not TOML"),
        ("", "tools: no tool is described"),
        ('tools = "x"', "tools: no tool is described"),
        ("[tools]\nx = 7", "tools.x: right is a table"),
        ('[tools.""]\nclass = "none"', "tools.: a name has 1 to 200 characters"),
        ('[tools."a\\u0000"]\nclass = "none"', "tools.a\0: a name has 1 to 200 characters"),
        (toml() + "\n[target.x]\n", "target: no such table; right are [targets.NAME] and [tools.NAME]"),
        ("targets = 7\n" + toml(target=""), "tools.book.target: 'airline' is not described; right are none so far"),
        (toml(target="[targets.airline]\n"), "targets.airline.base_url: missing"),
        (toml(target=TARGET + 'hmac = "x"'), "targets.airline.hmac: no such member; right are base_url, audience"),
        *[
            (toml(target=f'[targets.airline]\nbase_url = "{url}"\n'), "targets.airline.base_url: ")
            for url in (
                "airline.example",
                "ftp://airline.example",
                "https://",
                "https://u:p@airline.example",
                "https://a.example/?q=1",
                "https://a b.example",
                "https://a.example:99999999",
                "http://[::1",
            )
        ],
    ],
)
def test_a_file_that_is_none_is_named(text, named):
    assert any(fault.startswith(named) for fault in faults(text)), faults(text)


def test_every_fault_is_named_not_only_the_first():
    text = toml({"class": "x", "operation": "y"}) + '\n[tools.other]\nreason = "z"\n'
    assert len(faults(text)) == 3


@pytest.mark.parametrize(
    ("result", "id_"),
    [
        ('{"reservation_id": "HATHAT"}', "HATHAT"),
        ('{"reservation_id": 4711}', "4711"),
        ('{"reservation_id": true}', ""),
        ('{"reservation_id": 1.5}', ""),
        ('{"reservation_id": null}', ""),
        ('{"reservation_id": ["a"]}', ""),
        ('{"reservation_id": "a\\u0000b"}', ""),
        ('{"reservation_id": "\\ud800"}', ""),
        ('{"reservation_id": "' + "x" * 201 + '"}', ""),
        ('{"reservation_id": ' + "9" * 5000 + "}", ""),
        ("{}", ""),
        ("[]", ""),
        ("Transfer successful", ""),
        ("", ""),
        ("[" * 100_000, ""),
    ],
    ids=lambda value: value[:30],
)
def test_the_id_is_what_the_result_holds_there_or_nothing(result, id_):
    assert toolfiles.read(toml()).tools["book"].declared("book", result).id == id_


@pytest.mark.parametrize(
    ("pointer", "id_"),
    [("/a/0/b", "deep"), ("/a/1", ""), ("/a/-", ""), ("/x~1y/~0", "odd"), ("/", "empty"), ("/a/0/b/c", "")],
)
def test_the_pointer_is_read_as_rfc_6901_means_it(pointer, id_):
    result = '{"a": [{"b": "deep"}], "x/y": {"~": "odd"}, "": "empty"}'
    assert toolfiles.read(toml({"id": pointer})).tools["book"].declared("book", result).id == id_


@few
@given(st.text())
def test_whatever_stands_in_a_file_is_read_or_refused(text):
    with contextlib.suppress(BadToolFileError):
        assert toolfiles.read(text).tools
