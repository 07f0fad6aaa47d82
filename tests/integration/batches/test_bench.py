"""Does bench work what a product would, and do its chunks take as many statements whatever their size?"""

import uuid

import pytest
from django.db import DataError

from sideeffects import setwise
from sideeffects.bench import batches
from sideeffects.bench.place import Place
from sideeffects.models import Group, MemberOutcome
from sideeffects.workspace.models import Note, Project, Task
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.mark.both
def test_copies_of_an_action_are_taken_back_as_it_would_be():
    place = Place()
    for of, count in ((place.single, 3), (place.eleven, 2)):
        conversation = place.filled(of, count)
        assert Group.objects.filter(conversation=conversation).count() == count
        place.taken_back(conversation)
    assert set(MemberOutcome.objects.values_list("outcome", flat=True)) == {"revoked"}
    assert MemberOutcome.objects.count() == 3 + 2 * 11
    gone = [model.objects.filter(deleted_at=NOW).count() for model in (Note, Project, Task)]
    assert gone == [3, 2, 20]
    assert [model.objects.filter(deleted_at=None).count() for model in (Note, Project, Task)] == [1, 1, 10]
    assert Note.history.filter(deleted_at=NOW, history_change_reason="deleted by user:alice").count() == 3


@pytest.mark.both
def test_a_chunk_takes_as_many_statements_however_many_groups_it_holds():
    place = Place()
    assert batches._statements_of(place, 9) == batches._statements_of(place, 2)


def test_what_is_too_long_for_a_column_is_refused_and_not_cut():
    keys = {"revocation_id": [uuid.uuid4()], "effect_id": [uuid.uuid4()]}
    with pytest.raises(DataError):
        setwise.insert(MemberOutcome, same={"detail": ""}, each={**keys, "outcome": ["x" * 17]})
