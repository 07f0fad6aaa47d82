"""Is what a tool promises kept as it was, and can a title ask for nothing but the arguments?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sideeffects import tools
from sideeffects.tools import Contract, ToolRegisteredTwiceError
from sideeffects.transitions import Operation, RevokeClass

few = settings(max_examples=25)  # every one of them is small, and there are many
EXTERNAL = Contract(
    revoke_class=RevokeClass.EXTERNAL,
    target="crm.example",
    compensations={"create": "DELETE /contacts/{id}", "update": "POST /undo"},
)


def title(template, **arguments):
    return Contract(revoke_class=RevokeClass.NONE, title=template).title_of(arguments)


class Secret:
    token = "hunter2"


@pytest.mark.parametrize(
    ("template", "arguments", "said"),
    [
        (
            "Booked {arguments.origin} to {arguments.to.city}",
            {"origin": "OSL", "to": {"city": "LIS"}},
            "Booked OSL to LIS",
        ),
        ("{arguments.n} tasks, {arguments.on}", {"n": 3, "on": True}, "3 tasks, true"),
        ("{arguments.list}", {"list": ["ø", None]}, '["ø", null]'),
        ("{{as it is}}", {}, "{as it is}"),
        ("a{arguments.x}b", {"x": "\0"}, "ab"),
        ("", {"x": 1}, ""),
    ],
)
def test_a_title_says_what_the_arguments_hold(template, arguments, said):
    assert title(template, **arguments) == said


@pytest.mark.parametrize(
    "template",
    [
        "{arguments.missing}",
        "{arguments.text.missing}",
        "{arguments.text.__class__}",
        "{arguments.__class__}",
        "{arguments.secret.token}",
        "{arguments[text]}",
        "{arguments.text[0]}",
        "{other.text}",
        "{0}",
        "{}",
        "{arguments.text:>1000000000}",
        "{arguments.text:{arguments.width}}",
        "{arguments.none:d}",
        "{arguments.text!x}",
        "{arguments.text",
        "}",
    ],
)
def test_a_title_that_asks_for_anything_else_is_none(template):
    assert title(template, text="x", none=None, width="1000000000", secret=Secret()) == ""


@few
@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_no_template_breaks_anything(template, arguments):
    assert isinstance(Contract(revoke_class=RevokeClass.NONE, title=template).title_of(arguments), str)


@pytest.mark.parametrize("contract", [EXTERNAL, Contract(revoke_class=RevokeClass.NONE, reason="x", blocked=True)])
def test_a_contract_survives_being_kept(contract):
    assert Contract.from_json(contract.as_json()) == contract


@pytest.mark.parametrize(
    ("operation", "named", "revoke_class"),
    [
        (Operation.CREATE, True, RevokeClass.EXTERNAL),
        (Operation.CREATE, False, RevokeClass.NONE),
        (Operation.UPDATE, True, RevokeClass.EXTERNAL),
        (Operation.UPDATE, False, RevokeClass.EXTERNAL),
        (Operation.DELETE, True, RevokeClass.NONE),
    ],
)
def test_what_has_no_way_back_or_no_name_is_none_with_a_reason(operation, named, revoke_class):
    got, reason = EXTERNAL.classify(operation, named=named)
    assert got is revoke_class
    assert bool(reason) is (got is RevokeClass.NONE)


def test_a_tool_of_class_none_says_why():
    contract = Contract(revoke_class=RevokeClass.NONE, reason="sent is sent")
    assert contract.classify(Operation.CREATE) == (RevokeClass.NONE, "sent is sent")


def test_one_name_is_one_tool(monkeypatch):
    monkeypatch.setattr(tools, "REGISTRY", {})
    tools.declare("x", EXTERNAL)
    with pytest.raises(ToolRegisteredTwiceError):
        tools.declare("x", EXTERNAL)
