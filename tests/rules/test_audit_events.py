"""Is every event explained and told in words?"""

import re

import pytest

from audit.events import CATALOGUE
from audit.presenters import SENTENCES, sentence


def body(name, **changes):
    party = {"type": "agent", "id": "1", "name": "plan\u202ener"}
    data = dict.fromkeys(CATALOGUE[name].fields, "<b>x</b>\u202e")
    return {
        "action": name,
        "actor": party,
        "owner": {"type": "user", "id": "2", "name": "alice"},
        "target": {"type": "project", "id": "\u20667"},
        "outcome": "",
        "data": data,
    } | changes


def test_every_event_has_a_presenter_and_no_presenter_is_left_over():
    assert SENTENCES.keys() == CATALOGUE.keys()


@pytest.mark.parametrize("name", CATALOGUE)
def test_its_sentence_is_one_sentence_in_which_nothing_invisible_is_left(name):
    said = sentence(body(name))
    assert said.endswith(".")
    assert "\u202e" not in said
    assert "\u2066" not in said
    assert "{" not in said


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_record_of_an_older_version_without_a_field_still_reads(name):
    assert sentence(body(name, data={})).endswith(".")


@pytest.mark.parametrize("name", CATALOGUE)
def test_it_says_who_acted(name):
    assert "agent plan⟨U+202E⟩ner" in sentence(body(name, outcome="revoked"))


@pytest.mark.parametrize(
    ("outcome", "may_claim"),
    [
        ("revoked", True),
        ("requested", False),
        ("refused", False),
        ("unknown", False),
        ("not sent", False),
        ("new", False),
    ],
)
def test_only_what_is_revoked_is_said_to_be(outcome, may_claim):
    said = sentence(body("COMPENSATE", outcome=outcome))
    assert ("had project ⟨U+2066⟩7 revoked:" in said) == may_claim
    assert outcome in said or outcome in {"not sent", "unknown", "requested"}


@pytest.mark.parametrize("event", CATALOGUE.values(), ids=lambda event: event.name)
def test_it_is_explained(event):
    assert re.fullmatch(r"COMPENSATE|[a-z]+(_[a-z]+)+|restored|attested", event.name)
    assert event.when.endswith(".")
    assert all(meaning for meaning in event.fields.values())
