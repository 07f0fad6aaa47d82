"""Do problems speak of what was sent in words of JSON, at a length for reading?"""

import pytest
from rest_framework import serializers

from audit.inert import shows_nothing
from config.problems import members_of
from sideeffects.api.bodies import ToolCallBody

CALL = {"tool": "x", "arguments": {}, "conversation": "c", "status": "landed", "effects": []}


def wrong(body):
    """Return what is wrong with the body of a call, by member."""
    with pytest.raises(serializers.ValidationError) as caught:
        ToolCallBody(data=body).is_valid(raise_exception=True)
    return {error["member"]: error["detail"] for error in members_of(caught.value)["errors"]}


@pytest.mark.parametrize(
    ("body", "member", "words"),
    [
        ([], "", "An object is expected here, not a list."),
        ({**CALL, "arguments": "x"}, "arguments", "An object is expected here, not a string."),
        ({**CALL, "effects": {}}, "effects", "A list is expected here, not an object."),
        ({**CALL, "effects": [None]}, "effects[0]", "This field may not be null."),
        ({**CALL, "effects": [7]}, "effects[0]", "An object is expected here, not a number."),
    ],
)
def test_types_are_called_as_json_calls_them(body, member, words):
    assert wrong(body) == {member: words}


def test_what_was_sent_is_given_back_only_to_be_told_apart():
    assert len(wrong({**CALL, "status": "x" * 5000})["status"]) < 150
    [member] = wrong({**CALL, "y" * 5000: 1})
    assert len(member) < 150


@pytest.mark.parametrize("unseen", [" ", " \u202e\u200b"])
def test_a_name_of_which_nothing_is_seen_is_none(unseen):
    assert shows_nothing(unseen)
    body = {**CALL, "tool": unseen, "conversation": unseen, "effects": [{"type": unseen, "id": unseen}]}
    body["effects"][0]["operation"] = "create"
    found = wrong(body)
    assert set(found) == {"tool", "conversation", "effects[0].type", "effects[0].id"}
    assert set(found.values()) == {"A name needs at least one visible character."}
    assert ToolCallBody(data={**CALL, "run": "", "tool": "\u202eok"}).is_valid()
