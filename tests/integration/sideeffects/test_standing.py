"""Does the database call every group what the words call it?"""

import itertools

import pytest

from sideeffects import presenters, queries
from sideeffects.filters import GroupFilter
from sideeffects.models import Declaration, Effect, Group, Revocation
from sideeffects.services.record import Status
from sideeffects.transitions import EffectState, GroupState, Standing
from tests import factories
from tests.factories import NOW, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def group_in(state, owner, key):
    return Group(
        owner=owner, tool="t", source="reported", conversation="c", key=key, state=state, opened_at=NOW, landed_at=NOW
    )


def member(group, position, state, asking, *, restored):
    back = {"restored_at": NOW, "restored_by": "user:alice"} if restored and state is EffectState.ACTIVE else {}
    revoked = {"revocation": asking, "purge_at": NOW} if state is EffectState.REVOKED else {}
    common = {"type": "x", "operation": "create", "revoke_class": "local_compensate", "state_at": NOW}
    return Effect(group=group, position=position, state=state, **common, **back, **revoked)


def test_every_mix_of_states_is_found_under_its_own_name_and_no_other():
    by = planner()
    pairs = [(one, two) for one in EffectState for two in EffectState if one <= two]
    mixes = list(itertools.product([*pairs, ()], (False, True), (False, True)))
    groups = [group_in(GroupState.LANDED, by.user, f"{number}") for number in range(len(mixes))]
    Group.objects.bulk_create([*groups, *(group_in(state, by.user, state) for state in GroupState)])
    asking = Revocation.objects.create(group=groups[0], asked_at=NOW, asked_by="x", user=by.user, trigger="api")
    Effect.objects.bulk_create(
        member(group, position, state, asking, restored=restored)
        for group, (states, _, restored) in zip(groups, mixes, strict=True)
        for position, state in enumerate(states)
    )
    Declaration.objects.bulk_create(
        Declaration(group=group, digest="x", effects=[], held=False, first_seen_at=NOW, last_seen_at=NOW)
        for group, (_, conflict, _) in zip(groups, mixes, strict=True)
        if conflict
    )
    named = {view.group.pk: view.standing for view in presenters.views_of(list(Group.objects.all()), by=by)}
    assert set(named.values()) == set(Standing)
    for standing in Standing:
        found = set(queries.with_standing(Group.objects.all(), standing).values_list("pk", flat=True))
        assert found == {key for key, name in named.items() if name is standing}, standing


def found_by(**values):
    filters = GroupFilter(values, queryset=Group.objects.all())
    assert filters.is_valid(), filters.errors
    return {group.conversation for group in filters.qs}


def test_each_filter_narrows_to_what_it_says():
    mine, theirs = planner(), planner(owner="bob", agent="scribe")
    factories.project(mine, name="Q3 launch", conversation="one", run="r1")
    factories.report(theirs, [factories.contact("c_77")], tool="made.up", conversation="two")
    factories.report(theirs, [], status=Status.IN_FLIGHT, conversation="three")
    assert found_by() == {"one", "two", "three"}
    assert found_by(tool="made.up") == {"two"}
    assert found_by(agent="scribe") == {"two", "three"}
    assert found_by(owner="alice") == {"one"}
    assert found_by(run="r1") == found_by(conversation="one") == found_by(q="q3 LAUNCH") == {"one"}
    assert found_by(q="c_77") == {"two"}
    assert found_by(state="open") == found_by(standing="in flight") == {"three"}
    assert found_by(q="c_7") == set()
    factories.report(theirs, [factories.contact("c_78")], tool="made.up", conversation="two")
    assert found_by(conflict="open") == {"two"}
    assert found_by(conflict="none") == {"one", "three"}


@pytest.mark.parametrize("wrong", [{"standing": "fine"}, {"state": "x"}, {"conflict": "yes"}, {"q": "x" * 201}])
def test_what_cannot_be_meant_is_refused_by_name(wrong):
    filters = GroupFilter(wrong, queryset=Group.objects.all())
    assert not filters.is_valid()
    assert set(filters.errors) == set(wrong)


def test_who_asks_first_may_ask_only_for_what_he_sees():
    factories.project(planner(), conversation="hers")
    assert not GroupFilter({"owner": "alice"}, queryset=Group.objects.filter(owner=person("bob").user)).qs
