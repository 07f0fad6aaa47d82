"""Does what is asked of a target stay what was declared, whatever an id holds?"""

import pytest

from sideeffects.compensations import (
    BadCompensationError,
    NotNameableError,
    check_path,
    compensation,
    path_for,
)

VALUES = {"id": "c 1/../2?x=1#", "type": "contact", "operation": "create", "version": 'v"1'}


def test_values_are_quoted_whole_and_never_become_structure():
    filled = compensation('POST /contacts/{id}/revert {"to": "{version}", "deep": [{"of": "{type}"}], "n": 1}').filled(
        VALUES
    )
    assert filled.path == "/contacts/c%201%2F..%2F2%3Fx%3D1%23/revert"
    assert filled.body == {"to": 'v"1', "deep": [{"of": "contact"}], "n": 1}


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_an_id_that_leads_elsewhere_is_not_asked(value):
    with pytest.raises(NotNameableError):
        path_for("/contacts/{id}", {**VALUES, "id": value})


@pytest.mark.parametrize(
    "declared",
    [
        *("GET /x/{id}", "DELETE", "DELETE x/{id}", "DELETE //evil.example/{id}", "DELETE /a/../b/{id}"),
        *("DELETE /x/{owner}", "POST /x/{id} {not json", 'POST /x {"a": "{secret}"}', "DELETE /x y", "delete /x/{id}"),
        *("DELETE /x#f", "DELETE https://evil.example/x", "DELETE /x\\y"),
    ],
)
def test_what_cannot_be_meant_is_refused(declared):
    with pytest.raises(BadCompensationError):
        compensation(declared)


def test_a_status_path_is_held_to_the_same():
    check_path("/contacts/{id}?fields=status")
    with pytest.raises(BadCompensationError):
        check_path("contacts/{id}")
