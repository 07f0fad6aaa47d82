"""Is a batch worked newest first, each action once, honestly counted, and restored exactly?"""

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from sideeffects import batches
from sideeffects.batches import EmptyScopeError, Scope
from sideeffects.models import BatchItem, Effect
from sideeffects.policies import NotFoundError
from sideeffects.services import batch, batch_work, restore, revoke
from sideeffects.services.batch import (
    BatchAtWorkError,
    NothingSelectedError,
    NothingToRestoreError,
)
from sideeffects.services.land import fail, land
from sideeffects.services.record import Status
from sideeffects.workspace.models import Note
from tests import factories
from tests.batching import START, fates, note, notes, retitled, revoked, started, steer, told, worked
from tests.external import WORKER, bodies
from tests.factories import later, person, planner

pytestmark = pytest.mark.django_db
C1 = Scope(conversation="c1")


def ran(by, tool, arguments, at):
    group = factories.run(by, tool, arguments, now=later(seconds=at)).group
    assert group is not None
    return group


def opened(by, number):
    group = factories.report(by, [], status=Status.IN_FLIGHT, arguments={"n": number}).group
    assert group is not None
    return group


def given_away(*groups):
    """Give their notes to bob, so that alice's agent's writing cannot be undone any more."""
    ids = Effect.objects.filter(group__in=groups).values_list("object_id", flat=True)
    Note.objects.filter(pk__in=list(map(int, ids))).update(owner=factories.user("bob"))


@pytest.mark.both
def test_seven_actions_in_chunks_of_two_each_once(monkeypatch):
    monkeypatch.setattr(batch_work, "GROUPS", 2)
    newest = [str(group.pk) for group in reversed(notes(planner(), 7))]
    row = worked(started())
    assert (row.state, row.groups, row.effects) == ("finished", 7, 7)
    assert told(row).groups == told(row).effects == {"revoked": 7}
    compensated = bodies("COMPENSATE")
    turns = [sorted(body["group"] for body in compensated[first : first + 2]) for first in range(0, 7, 2)]
    assert turns == [sorted(newest[first : first + 2]) for first in range(0, 7, 2)]
    assert {(body["data"]["batch"], body["data"]["trigger"]) for body in compensated} == {(str(row.pk), "batch")}
    [begun], [ended] = bodies("batch_started"), bodies("batch_finished")
    assert (begun["data"]["groups"], ended["data"]["groups"]) == (7, {"revoked": 7})
    assert (begun["actor"]["name"], ended["actor"]["name"]) == ("alice", "worker")
    assert set(BatchItem.objects.values_list("revocation__batch", flat=True)) == {row.pk}


@pytest.mark.parametrize("size", [1, 100])
def test_ok_fail_ok_is_three_outcomes_and_the_tail_is_tried(monkeypatch, size):
    monkeypatch.setattr(batch_work, "GROUPS", size)
    groups = notes(planner(), 3)
    given_away(groups[1])
    row = worked(started())
    assert fates(row) == ["revoked", "failed", "revoked"]
    assert (told(row).groups, told(row).failed) == ({"revoked": 2, "failed": 1}, 1)
    [item] = batches.items(row, "failed")
    assert "belongs to someone else by now" in item.detail
    assert (item.group, item.refusal, item.revocation) == (groups[1], "members-failed", None)
    [refused] = bodies("revoke_refused")
    assert refused["data"]["refusal"] == "members-failed"
    Note.objects.update(owner=factories.user("alice"))
    assert worked(steer(batch.retry, row)).state == "finished"
    assert (told(row).groups, told(row).failed) == ({"revoked": 3}, 0)
    assert [body["data"]["again"] for body in bodies("batch_retried")] == [1]
    assert len(bodies("COMPENSATE")) == 3
    assert steer(batch.retry, row).state == "finished"  # nothing is left to try, and nothing is written
    assert (len(bodies("batch_retried")), len(bodies("batch_finished"))) == (1, 2)


@pytest.mark.both
def test_a_restore_of_a_batch_touches_exactly_what_the_batch_touched():
    by = planner()
    before, other = notes(by, 1), notes(by, 1, start=5, conversation="c2")
    groups = notes(by, 3, start=10)
    revoked([*before, *other], now=later(minutes=1))
    row = worked(started())
    assert told(row).groups == {"revoked": 4}
    assert [item.detail for item in batches.items(row) if item.detail] == ["was taken back before, not by this"]
    assert told(row).restorable == 3
    undoing = steer(batch.restore, row)
    assert steer(batch.restore, row) == undoing
    worked(undoing, now=later(hours=4))
    assert told(undoing).groups == told(undoing).effects == {"restored": 3}
    assert (told(row).groups, told(row).restorable) == ({"revoked": 1, "restored": 3}, 0)
    assert set(Effect.objects.filter(state="active").values_list("group", flat=True)) == {row.pk for row in groups}
    assert {body["data"]["batch"] for body in bodies("restored")} == {str(undoing.pk)}
    assert [item.group for item in batches.items(undoing)] == groups  # the oldest first
    with pytest.raises(NothingToRestoreError):
        steer(batch.restore, row)
    with pytest.raises(NothingToRestoreError):
        steer(batch.restore, undoing)


def test_what_others_did_with_it_since_stays_theirs():
    groups = notes(planner(), 3)
    row = worked(started())
    restored_by_hand, again = groups[:2], groups[:1]
    for group in restored_by_hand:
        [result] = restore.restore(groups=[group.pk], by=person("alice"), now=later(hours=3), reason="")
        result.unwrap()
    undoing = steer(batch.restore, row)
    assert undoing.groups == 1
    [result] = restore.restore(groups=[groups[2].pk], by=person("alice"), now=later(hours=3), reason="")
    revoked([*again, groups[2]], now=later(hours=3))
    worked(undoing, now=later(hours=4))
    [item] = batches.items(undoing)
    assert (item.outcome, item.detail) == ("skipped", "revoked again since, not by this batch")
    assert told(row).groups == {"revoked": 2, "restored": 1}
    assert told(row).restorable == 0


def test_what_builds_on_another_goes_first_within_and_across_chunks(monkeypatch):
    by = planner()
    first = note(by, 1)
    notes(by, 3, start=2)
    second = retitled(by, first, 9)
    third = retitled(by, first, 10)
    for size in (1, 100):
        monkeypatch.setattr(batch_work, "GROUPS", size)
        row = worked(started())
        assert told(row).groups == {"revoked": 6}
        order = [body["group"] for body in bodies("COMPENSATE")[-6:]]
        turns = [order.index(str(group.pk)) for group in (third, second, first)]
        assert turns == sorted(turns)
        worked(steer(batch.restore, row), now=later(hours=4))
        assert not Effect.objects.filter(state="revoked").exists()


def test_what_stands_in_the_way_of_one_keeps_only_that_and_what_hangs_under_it():
    by = planner()
    notes(by, 2)
    coded = {"name": "Q3", "code": "Q3", "tasks": []}
    first, other = [ran(by, "project.create", named, 5) for named in (coded, {"name": "Q4"})]
    tasks = [
        ran(by, "task.create", {"project": of, "title": "x"}, 9)
        for of in Effect.objects.filter(group__in=[first, other]).order_by("pk").values_list("object_id", flat=True)
    ]
    row = worked(started())
    assert told(row).groups == {"revoked": 6}
    factories.run(by, "project.create", coded, now=START, idempotency_key="again", conversation="c2")
    undoing = worked(steer(batch.restore, row), now=later(hours=4))
    assert told(undoing).groups == {"restored": 4, "skipped": 2}
    kept = {item.group: (item.refusal, item.detail) for item in batches.items(undoing, "skipped")}
    assert kept.keys() == {first, tasks[0]}
    assert {refusal for refusal, _ in kept.values()} == {"restore-clash"}
    assert "Q3 is taken" in kept[first][1]
    assert "which is in the trash: restore that first" in kept[tasks[0]][1]
    assert told(undoing).failed == told(row).restorable == 2


def test_a_turn_is_put_off_while_what_builds_on_it_waits_in_the_same_batch(monkeypatch):
    """Clocks of two servers disagree: what was written later says that it landed earlier."""
    monkeypatch.setattr(batch_work, "GROUPS", 1)
    by = planner()
    first = note(by, 30)
    second = retitled(by, first, 2)
    row = worked(started())
    assert told(row).groups == {"revoked": 2}
    assert [item.group for item in batches.items(row)] == [second, first]


def test_what_is_built_on_from_outside_is_left_unless_it_is_meant():
    by = planner()
    project = factories.project(by, tasks=0).effects.get().object_id
    factories.run(by, "task.create", {"project": project, "title": "x"}, now=later(seconds=2), conversation="c2")
    row = worked(started())
    assert fates(row) == ["skipped"]
    [item] = batches.items(row, "skipped")
    assert item.refusal == "depended-on"
    assert batches.preview(scope=C1, by=person("alice"), now=START).built_on_outside == 1
    assert fates(worked(started(leave_later=True))) == ["revoked"]


@pytest.mark.both
def test_what_lands_while_it_runs_is_named_and_no_part_of_it():
    by, alice = planner(), person("alice")
    notes(by, 2)
    waiting = opened(by, 3)
    row = started()
    late = note(by, 9)
    note(by, 10, conversation="c2")
    land(group=waiting.pk, effects=[], by=by, now=START)
    worked(row)
    assert row.groups == 3
    assert list(batches.landed_since(row, by=alice)) == [late]
    assert not Effect.objects.get(group=late).revocation
    assert list(batches.landed_since(row, by=person("bob"))) == []


def test_what_has_not_landed_is_said_so_and_tried_again():
    by = planner()
    failed = opened(by, 1)
    fail(group=failed.pk, reason="timeout", by=by, now=later(seconds=1))
    group = opened(by, 2)
    row = worked(started())
    assert {item.group: item.refusal for item in batches.items(row)} == {
        failed: "nothing-written",
        group: "in-flight",
    }
    assert (told(row).groups, told(row).failed) == ({"skipped": 2}, 1)
    land(group=group.pk, effects=[factories.contact("c")], by=by, now=later(hours=3))
    worked(steer(batch.retry, row))
    assert told(row).groups == {"not revocable": 1, "skipped": 1}


def test_an_edit_since_is_left_and_its_neighbours_go():
    groups = notes(planner(), 2)
    Note.objects.filter(pk=groups[0].effects.get().object_id).update(body="by hand")
    seen = batches.preview(scope=C1, by=person("alice"), now=START)
    assert (seen.edited, seen.by_class["here"], seen.groups) == (1, 2, 2)
    row = worked(started())
    assert fates(row) == ["revoked", "skipped"]
    assert batches.items(row, "skipped").get().refusal == "edited-since"


def test_a_stopped_batch_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(batch_work, "GROUPS", 2)
    notes(planner(), 5)
    row = started()
    assert batch_work.chunk(row.pk, 2, by=person("admin"), now=later(hours=2)) == 2
    with pytest.raises(BatchAtWorkError):
        steer(batch.restore, row)
    for verb in (batch.stop, batch.stop):
        assert steer(verb, row, reason="wait").state == "stopped"
    assert (worked(row).why, told(row).waiting, told(row).done) == ("wait", 3, 2)
    assert [body["data"]["waiting"] for body in bodies("batch_stopped")] == [3]
    for verb in (batch.resume, batch.resume):
        assert steer(verb, row).state == "working"
    worked(row)
    assert (told(row).groups, row.state, row.why) == ({"revoked": 5}, "finished", "")
    assert steer(batch.stop, row).state == "finished"
    assert [len(bodies(f"batch_{name}")) for name in ("started", "stopped", "resumed", "finished")] == [1, 1, 1, 1]
    assert len(bodies("COMPENSATE")) == 5


@pytest.mark.both
def test_a_scope_narrows_by_all_its_members():
    by = planner()
    first = note(by, 1, run="r1")
    second = note(by, 2, run="r2", execution="e1")
    alice = person("alice")

    def chosen(**wanted):
        scope = Scope(**wanted)
        assert Scope.from_json(scope.as_json()) == scope
        assert scope.words()
        return list(scope.groups_for(alice).order_by("pk"))

    assert chosen(conversation="c1") == chosen(tool="note.create") == chosen(agent="planner") == [first, second]
    assert chosen(run="r1") == chosen(until=later(seconds=2)) == chosen(groups=(first.pk, first.pk)) == [first]
    assert chosen(execution="e1") == chosen(since=later(seconds=2), conversation="c1") == [second]
    assert chosen(owner="bob", conversation="c1") == []
    with pytest.raises(EmptyScopeError):
        Scope()
    with pytest.raises(NotFoundError):
        Scope(groups=(first.pk,)).groups_for(person("bob"))
    with pytest.raises(NothingSelectedError, match="conversation “⟨U\\+202E⟩x”"):
        started(Scope(conversation="\u202ex"))


@pytest.mark.parametrize("error", [KeyError, IntegrityError])
def test_one_that_fails_for_no_foreseen_reason_is_named_and_the_others_go(monkeypatch, error):
    groups = notes(planner(), 5)

    def unforeseen(**asked):
        if groups[2].pk in asked["groups"]:
            raise error("secret")
        return revoke.revoke(**asked)

    monkeypatch.setattr(batch_work, "revoke", unforeseen)
    row = worked(started())
    assert fates(row) == ["revoked", "revoked", "failed", "revoked", "revoked"]
    assert batches.items(row, "failed").get().detail == f"Nothing was changed: {error.__name__}."
    assert [body["group"] for body in bodies("revoke_refused")] == [str(groups[2].pk)]
    assert told(row).failed == 1


def test_a_batch_that_the_database_will_not_work_now_waits_and_others_go(monkeypatch):
    by = planner()
    [group], _ = notes(by, 1), notes(by, 1, conversation="c2")

    def busy(**asked):
        if group.pk in asked["groups"]:
            raise OperationalError("canceling statement due to statement timeout")
        return revoke.revoke(**asked)

    monkeypatch.setattr(batch_work, "revoke", busy)
    row, other = started(), started(Scope(conversation="c2"))
    assert worked(other).state == "finished"
    assert told(row).groups == {"not attempted": 1}
    monkeypatch.undo()
    assert told(worked(row)).groups == {"revoked": 1}


def test_a_chunk_costs_as_many_statements_however_many_actions_it_holds():
    by = planner()
    spent = {}
    for size, conversation in ((5, "few"), (50, "many")):
        notes(by, size, conversation=conversation)
        shown = Scope(conversation=conversation)
        row, alice = started(shown), person("alice")
        looks = (lambda: told(row), lambda: batches.preview(scope=shown, by=alice, now=START))  # noqa: B023  (used now)
        chunk = (lambda: batch_work.chunk(row.pk, 100, by=WORKER, now=later(hours=2)),)  # noqa: B023  (likewise)
        spent[size] = [statements(act) for act in (*looks, *chunk, *looks)]
        undoing = steer(batch.restore, worked(row))
        back = lambda: batch_work.chunk(undoing.pk, 100, by=WORKER, now=later(hours=4))  # noqa: B023, E731  (used now)
        spent[size].append(statements(back))
        assert told(undoing).groups == {"restored": size}
    assert spent[5] == spent[50]
    assert max(spent[5]) < 30


def statements(act):
    with CaptureQueriesContext(connection) as seen:
        act()
    return len(seen)
