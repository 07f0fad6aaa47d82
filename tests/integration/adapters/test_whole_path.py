"""Can what a tool of any app wrote be taken back and brought back, by whom it should and by nobody else?"""

from typing import Any

import pytest

from audit import log
from audit.verify import verify
from sideeffects import actors
from sideeffects.models import Effect, Group
from sideeffects.policies import NotFoundError
from sideeffects.services import purge
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.services.since import DependedOnError, EditedSinceError
from sideeffects.targets.local import MembersFailedError
from sideeffects.transitions import EffectState, Outcome
from tests import factories
from tests.factories import later, person, planner, user
from tests.samples import Sample, samples

pytestmark = [pytest.mark.django_db, pytest.mark.both]


@pytest.fixture(params=samples(), ids=lambda sample: sample.type)
def sample(request: Any) -> Sample:
    found: Sample = request.param
    return found


def created(sample: Sample) -> tuple[Group, Any]:
    tool, arguments = sample.create("Written by an agent")
    group = factories.run(planner(), tool, arguments).group
    assert group is not None
    key = Effect.objects.filter(group=group, type=sample.type).latest("position").object_id
    return group, sample.adapter.find([key])[key]


def there(sample: Sample, row: Any) -> Any:
    [found] = sample.adapter.find([str(row.pk)]).values()
    return found


def take_back(group: Group, who: str = "alice", **options: Any) -> Any:
    asked: dict[str, Any] = {"reason": "", "trigger": Trigger.CLICK, "now": later(minutes=1)} | options
    return revoke(groups=[group.pk], by=person(who), **asked)[0]


def test_it_is_recorded_taken_back_and_brought_back(sample):
    group, row = created(sample)
    before = sample.adapter.content(row)
    answer = take_back(group).unwrap()
    assert (answer.outcome, answer.complete) == (Outcome.REVOKED, True)
    assert sample.adapter.is_deleted(there(sample, row))
    back = restore(groups=[group.pk], by=person("alice"), now=later(minutes=2), reason="")[0].unwrap()
    assert back.outcome is Outcome.RESTORED
    assert not sample.adapter.is_deleted(there(sample, row))
    assert sample.adapter.content(there(sample, row)) == before
    assert set(Effect.objects.values_list("state", flat=True)) == {EffectState.ACTIVE}
    log.seal()
    assert verify().verdict == "consistent"


def test_a_change_is_put_back_and_made_again_but_never_over_what_a_person_wrote_unseen(sample):
    if sample.change is None:
        return  # no tool of the app changes such a thing
    _, row = created(sample)
    before = sample.adapter.content(row)
    tool, arguments = sample.change(str(row.pk), "Changed by an agent")
    change = factories.run(planner(), tool, arguments, now=later(seconds=30)).group
    assert change is not None
    sample.edit(row, "Written by hand")
    with pytest.raises(EditedSinceError) as edited:
        take_back(change).unwrap()
    [told] = edited.value.edited
    assert (told["type"], told["id"]) == (sample.type, str(row.pk))
    assert sample.adapter.content(there(sample, row))[sample.text] == "Written by hand"
    assert take_back(change, overrides={change.pk: edited.value.seen}).unwrap().complete
    assert sample.adapter.content(there(sample, row)) == before
    restore(groups=[change.pk], by=person("alice"), now=later(minutes=2), reason="")[0].unwrap()
    assert sample.adapter.content(there(sample, row)) == {**before, sample.text: "Written by hand"}


def test_what_an_agent_deleted_comes_back_and_goes_again(sample):
    if sample.delete is None:
        return  # no tool of the app deletes such a thing
    group, row = created(sample)
    tool, arguments = sample.delete(str(row.pk))
    deletion = factories.run(planner(), tool, arguments, now=later(seconds=30)).group
    assert deletion is not None
    assert sample.adapter.is_deleted(there(sample, row))
    with pytest.raises(DependedOnError):
        take_back(group).unwrap()
    assert take_back(deletion).unwrap().complete
    assert not sample.adapter.is_deleted(there(sample, row))
    restore(groups=[deletion.pk], by=person("alice"), now=later(minutes=2), reason="")[0].unwrap()
    assert sample.adapter.is_deleted(there(sample, row))


def test_on_its_date_it_leaves_for_good(sample):
    group, row = created(sample)
    take_back(group).unwrap()
    by = actors.system("worker")
    assert purge.announce(by=by, now=later(days=28)) == 1
    assert purge.purge(by=by, now=later(days=31)) == 1
    assert sample.adapter.find([str(row.pk)]) == {}
    assert set(Effect.objects.values_list("state", flat=True)) == {EffectState.PURGED}


def test_only_its_owner_and_an_admin_take_it_back(sample):
    group, row = created(sample)
    for stranger in ("bob", "charlie"):
        with pytest.raises(NotFoundError):
            take_back(group, stranger).unwrap()
    assert not sample.adapter.is_deleted(there(sample, row))
    assert take_back(group, "admin", reason="Asked by mail").unwrap().complete


def test_what_is_anothers_by_now_is_not_touched_and_what_is_gone_is_said_to_be(sample):
    group, row = created(sample)
    sample.give(row, user("bob"))
    with pytest.raises(MembersFailedError, match="belongs to someone else by now"):
        take_back(group).unwrap()
    assert not sample.adapter.is_deleted(there(sample, row))
    sample.erase(row)
    answer = take_back(group, now=later(minutes=2)).unwrap()
    assert not answer.complete
    assert Outcome.ALREADY_GONE in {member.outcome for member in answer.members}
