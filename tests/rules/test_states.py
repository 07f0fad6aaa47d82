"""Is every state and action decided by the one table, and do words and README derive from it?"""

from pathlib import Path

import pytest

from sideeffects import transitions, words
from sideeffects.transitions import (
    EFFECT_TABLE,
    GROUP_TABLE,
    EffectState,
    GroupState,
    Operation,
    Outcome,
    RevokeClass,
    Standing,
    TransitionError,
)

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("state", EffectState)
@pytest.mark.parametrize("action", sorted({action for _, action in EFFECT_TABLE}))
def test_an_effect_moves_by_the_table_or_not_at_all(state, action):
    if (state, action) in EFFECT_TABLE:
        assert transitions.effect_after(state, action) is EFFECT_TABLE[state, action]
    else:
        with pytest.raises(TransitionError):
            transitions.effect_after(state, action)


@pytest.mark.parametrize("state", GroupState)
@pytest.mark.parametrize("action", sorted({action for _, action in GROUP_TABLE}))
def test_a_group_moves_by_the_table_or_not_at_all(state, action):
    if (state, action) in GROUP_TABLE:
        assert transitions.group_after(state, action) is GROUP_TABLE[state, action]
    else:
        with pytest.raises(TransitionError):
            transitions.group_after(state, action)


def test_every_state_can_be_reached():
    assert set(EFFECT_TABLE.values()) | {EffectState.ACTIVE} == set(EffectState)
    assert set(GROUP_TABLE.values()) | {GroupState.OPEN} == set(GroupState)


@pytest.mark.parametrize("state", EffectState)
@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("revoke_class", RevokeClass)
def test_every_effect_has_a_sentence_and_only_two_kinds_get_a_check_mark(state, operation, revoke_class):
    facts = words.EffectFacts(state=state, revoke_class=revoke_class, operation=operation, trash_until="1 Jan 2027")
    said = words.of_effect(facts)
    assert str(said)
    assert (said.tone is words.Tone.DONE) == (state in {EffectState.REVOKED, EffectState.COMPENSATED})


@pytest.mark.parametrize("standing", Standing)
def test_every_group_has_a_sentence_and_requested_never_reads_as_revoked(standing):
    facts = words.GroupFacts(standing=standing, counts={EffectState.GONE: 1}, none=0)
    said = str(words.of_group(facts))
    assert said
    if standing is not Standing.REVOKED:
        assert not said.startswith("Revoked")


def test_every_outcome_has_its_place_from_weakest_to_strongest():
    assert set(transitions.WEAKEST_FIRST) == set(Outcome)
    assert len(transitions.WEAKEST_FIRST) == len(Outcome)


def test_the_diagram_in_readme_is_the_table():
    assert transitions.diagram() in README.read_text()
