"""Is the one table the design's, and can nothing that stands or is unknown ever be called complete?"""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sideeffects.transitions import (
    EFFECT_TABLE,
    GROUP_TABLE,
    WEAKEST_FIRST,
    EffectState,
    GroupState,
    Member,
    Outcome,
    RevokeClass,
    Standing,
    TransitionError,
    effect_after,
    group_after,
    is_complete,
    outcome_of,
    standing_of,
    weakest,
)

few = settings(max_examples=25)  # every one of them is small, and there are many

GROUPS = "OPEN ─land→ LANDED      OPEN ─fail→ FAILED      OPEN ─lose→ LOST ─land→ LANDED"
EFFECTS = """
    ACTIVE ─revoke→ REVOKED ─restore→ ACTIVE      REVOKED ─purge→ PURGED      ACTIVE ─find_gone→ GONE
    ACTIVE ─request→ REQUESTING ─accept→ COMPENSATING ─confirm→ COMPENSATED
    REQUESTING │ COMPENSATING │ UNKNOWN │ COMPENSATED │ ATTESTED ─refuse→ REFUSED ─request→ REQUESTING
    REQUESTING ─lose_contact→ UNKNOWN ─request→ REQUESTING        REQUESTING ─request→ REQUESTING
    UNKNOWN │ REFUSED │ COMPENSATED ─accept→ COMPENSATING
    UNKNOWN │ REFUSED │ ATTESTED │ REQUESTING ─confirm→ COMPENSATED
    REQUESTING │ COMPENSATING │ UNKNOWN │ REFUSED ─attest→ ATTESTED
"""
MEMBERS = [Member(*facts) for facts in product(RevokeClass, EffectState, (False, True))]
members = st.lists(st.sampled_from(MEMBERS), max_size=12)
UNDONE = {EffectState.REVOKED, EffectState.COMPENSATED}


def arrows(text):
    """Return what a picture of arrows says: (state, action) → state, several states before an arrow being each."""
    table: dict[tuple[str, str], str] = {}
    for line in re.split(r"\n|\s{4,}", text.strip()):
        start, *steps = re.split(r"\s*─(\w+)→\s*", line.strip())
        sources = start.split(" │ ")
        for action, end in zip(steps[::2], steps[1::2], strict=True):
            table |= {(source, action): end for source in sources}
            sources = [end]
    return table


def test_the_tables_are_those_of_the_design():
    assert {(state.name, action): after.name for (state, action), after in EFFECT_TABLE.items()} == arrows(EFFECTS)
    assert {(state.name, action): after.name for (state, action), after in GROUP_TABLE.items()} == arrows(GROUPS)


@pytest.mark.parametrize(
    ("states", "drawn", "after"), [(EffectState, EFFECTS, effect_after), (GroupState, GROUPS, group_after)]
)
def test_every_state_and_action_goes_where_an_arrow_is_drawn_or_nowhere(states, drawn, after):
    table = arrows(drawn)
    actions = {action for _, action in arrows(EFFECTS)} | {action for _, action in arrows(GROUPS)} | {"", "delete"}
    for state, action in product(states, actions):
        if (state.name, action) in table:
            assert after(state, action).name == table[state.name, action]
        else:
            with pytest.raises(TransitionError) as refused:
                after(state, action)
            assert (refused.value.state, refused.value.action) == (state, action)


def test_what_is_purged_or_was_gone_has_no_way_out():
    for action in {action for _, action in EFFECT_TABLE}:
        for state in (EffectState.PURGED, EffectState.GONE):
            with pytest.raises(TransitionError):
                effect_after(state, action)


# -- Complete -------------------------------------------------------------------------------------------------------


def check_complete(state, group, conflict):
    complete = is_complete(state, group, conflict_open=conflict)
    undone = [member.state in UNDONE and member.revoke_class is not RevokeClass.NONE for member in group]
    assert complete == (state is GroupState.LANDED and not conflict and bool(group) and all(undone))
    if complete:
        assert standing_of(state, group, conflict_open=conflict) in {Standing.REVOKED, Standing.UNDONE}
        assert {outcome_of(member) for member in group} <= {Outcome.REVOKED, Outcome.CONFIRMED}


def test_complete_is_a_whitelist_for_every_group_of_up_to_two_members():
    groups = [[], *([member] for member in MEMBERS), *(list(pair) for pair in product(MEMBERS, MEMBERS))]
    for state, group, conflict in product(GroupState, groups, (False, True)):
        check_complete(state, group, conflict)


@few
@given(st.sampled_from(GroupState), members, st.booleans())
def test_complete_is_a_whitelist_for_larger_groups(state, group, conflict):
    check_complete(state, group, conflict)


@few
@given(st.lists(st.sampled_from([member for member in MEMBERS if member.state in UNDONE]), max_size=11), st.data())
def test_one_member_that_stands_or_is_unknown_is_enough_to_be_incomplete(undone, data):
    other = data.draw(st.sampled_from([member for member in MEMBERS if member.state not in UNDONE]))
    place = data.draw(st.integers(0, len(undone)))
    group = [*undone[:place], other, *undone[place:]]
    assert not is_complete(GroupState.LANDED, group, conflict_open=False)


# -- Standing -------------------------------------------------------------------------------------------------------


@few
@given(st.sampled_from(GroupState), members, st.booleans())
def test_what_a_group_is_called_never_claims_more_than_its_weakest_member(state, group, conflict):
    standing = standing_of(state, group, conflict_open=conflict)
    states = {member.state for member in group}
    if state is not GroupState.LANDED:
        assert standing in {Standing.IN_FLIGHT, Standing.FAILED, Standing.LOST}
    if standing is Standing.REVOKED:
        assert states <= {EffectState.REVOKED, EffectState.PURGED}
    if standing is Standing.UNDONE:
        assert EffectState.COMPENSATED in states
        assert states <= {EffectState.REVOKED, EffectState.PURGED, EffectState.COMPENSATED}
    if standing is Standing.ATTESTED:
        assert EffectState.ATTESTED in states
        assert not states & {EffectState.ACTIVE, EffectState.UNKNOWN, EffectState.REFUSED, EffectState.REQUESTING}
    if standing is Standing.REQUESTED:
        assert not states & {EffectState.ACTIVE, EffectState.UNKNOWN, EffectState.REFUSED, EffectState.GONE}
    if conflict and state is GroupState.LANDED:
        assert standing in {Standing.STANDING, Standing.INCOMPLETE, Standing.PARTLY_RESTORED}


@few
@given(members.flatmap(lambda group: st.tuples(st.just(group), st.permutations(group))), st.booleans())
def test_the_order_of_members_does_not_matter(pair, conflict):
    for state in GroupState:
        one, other = (standing_of(state, group, conflict_open=conflict) for group in pair)
        assert one is other


def test_restored_members_beside_revoked_ones_are_partly_restored():
    back = Member(RevokeClass.LOCAL, EffectState.ACTIVE, restored=True)
    away = Member(RevokeClass.LOCAL, EffectState.REVOKED)
    never = Member(RevokeClass.LOCAL, EffectState.ACTIVE)
    assert standing_of(GroupState.LANDED, [back, away], conflict_open=False) is Standing.PARTLY_RESTORED
    assert standing_of(GroupState.LANDED, [back, back], conflict_open=False) is Standing.STANDING
    assert standing_of(GroupState.LANDED, [never, away], conflict_open=False) is Standing.INCOMPLETE


# -- Outcomes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_what_still_stands_is_never_called_undone(member):
    outcome = outcome_of(member)
    if member.state is EffectState.ACTIVE:
        assert outcome in {Outcome.NOT_ATTEMPTED, Outcome.NOT_REVOCABLE, Outcome.RESTORED}
    if outcome is Outcome.CONFIRMED:
        assert member.state is EffectState.COMPENSATED
    if outcome is Outcome.REVOKED:
        assert member.state in {EffectState.REVOKED, EffectState.PURGED}


@few
@given(st.lists(st.sampled_from(Outcome)))
def test_the_whole_is_called_by_its_weakest(outcomes):
    named = weakest(outcomes)
    if not outcomes:
        assert named is Outcome.NOT_ATTEMPTED
    else:
        assert named in outcomes
        assert WEAKEST_FIRST.index(named) == min(WEAKEST_FIRST.index(outcome) for outcome in outcomes)


def test_a_refusal_says_how_it_is_and_how_it_would_have_to_be():
    with pytest.raises(TransitionError, match="is lost; only one that is open can be reported failed"):
        group_after(GroupState.LOST, "fail")
    with pytest.raises(TransitionError, match="is purged; only one that is revoked can be restored"):
        effect_after(EffectState.PURGED, "restore")
    for table, state in ((GROUP_TABLE, GroupState.FAILED), (EFFECT_TABLE, EffectState.GONE)):
        assert all(" can " in str(TransitionError(state, name)) for _, name in table)
