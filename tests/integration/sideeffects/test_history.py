"""Does a change or a deletion that ran here come back field by field, and never over what someone did since?"""

import json

import pytest

from audit.models import Record
from sideeffects import dependants
from sideeffects.models import Above, Effect, Group
from sideeffects.policies import ForPersonsOnlyError
from sideeffects.services.clashes import RestoreClashError
from sideeffects.services.execute import ToolFailedError
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import revoke
from sideeffects.services.since import DependedOnError, EditedSinceError
from sideeffects.targets.local import MembersFailedError
from sideeffects.targets.registry import adapter_for
from sideeffects.transitions import Operation, RevokeClass
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.factories import later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]


@pytest.fixture
def by():
    return planner()


def note(by, title="Plan", body="First draft"):
    factories.run(by, "note.create", {"title": title, "body": body})
    return Note.objects.latest("pk")


def update(by, row, *, now=None, **changes):
    return run(by, "note.update", {"note": str(row.pk), **changes}, now=now or later(minutes=1))


def run(by, tool, arguments, *, now=None):
    group = factories.run(by, tool, arguments, now=now or later(minutes=1)).group
    assert group is not None
    return group


def test_what_a_tool_changes_or_deletes_keeps_its_versions_before_and_after(by):
    row = note(by)
    update(by, row, title="Better plan")
    factories.run(by, "note.delete", {"notes": [str(row.pk)]}, now=later(minutes=2))
    created, changed, deleted = Effect.objects.order_by("pk")
    assert {one.revoke_class for one in (created, changed, deleted)} == {RevokeClass.LOCAL}
    assert created.version_before == ""
    assert changed.version_before == created.version_after
    assert deleted.version_before == changed.version_after
    said = adapter_for("note").contents([changed.version_before, changed.version_after])
    assert said[changed.version_before] == {"title": "Plan", "body": "First draft"}
    assert said[changed.version_after] == {"title": "Better plan", "body": "First draft"}


def test_a_row_that_was_changed_past_its_history_gets_a_version_first(by):
    row = note(by)
    Note.objects.filter(pk=row.pk).update(body="By another program")
    update(by, row, title="Better plan")
    changed = Effect.objects.latest("pk")
    said = adapter_for("note").contents([changed.version_before])
    assert said[changed.version_before] == {"title": "Plan", "body": "By another program"}


def test_a_tool_touches_only_rows_of_its_owner_that_stand(by):
    row = note(by)
    other = planner(owner="bob")
    with pytest.raises(ToolFailedError, match=f"There is no note {row.pk} that this call may change"):
        update(other, row, title="Mine now")
    for key in ("7777", "x", "-1", "9" * 30, "01"):
        with pytest.raises(ToolFailedError, match=f"There is no note {key} "):
            factories.run(by, "note.update", {"note": key, "title": "New"})
    factories.run(by, "note.delete", {"notes": [str(row.pk)]})
    with pytest.raises(ToolFailedError):
        update(by, row, title="New")
    row.refresh_from_db()
    assert row.title == "Plan"


def test_what_is_written_under_anothers_object_says_so(by):
    factories.project(by, tasks=2)
    project = Project.objects.get()
    assert not Above.objects.exists()
    factories.run(by, "task.create", {"project": str(project.pk), "title": "One more"})
    [above] = Above.objects.all()
    assert (above.type, above.object_id) == ("project", str(project.pk))
    assert above.effect.object_id == str(Task.objects.latest("pk").pk)


# -- Revoke and restore --------------------------------------------------------------------------------------------


def take_back(group, *, by=None, **options):
    options = {"now": later(hours=1), "reason": "", "trigger": Trigger.CLICK, **options}
    return revoke(groups=[group.pk], by=by or person("alice"), **options)[0].unwrap()


def give_back(group, *, now=None):
    return restore(groups=[group.pk], by=person("alice"), now=now or later(hours=2), reason="")[0].unwrap()


def edit(row, **changes):
    """Change a row as a person does who keeps its history."""
    row.refresh_from_db()
    for name, value in changes.items():
        setattr(row, name, value)
    row.save()


def said(row):
    row.refresh_from_db()
    return row.title, row.body, row.deleted_at is not None


def test_a_change_is_put_back_and_restored_and_put_back_again(by):
    row = note(by)
    group = update(by, row, title="Better plan", body="Second draft")
    for hour in (1, 3):
        answer = take_back(group, now=later(hours=hour))
        assert answer.complete
        assert [one.detail for one in answer.members] == ["put back to the version before"]
        assert said(row) == ("Plan", "First draft", False)
        assert not give_back(group, now=later(hours=hour + 1)).already
        assert said(row) == ("Better plan", "Second draft", False)
    assert row.history.count() == 6


def test_a_deletion_is_undone_and_done_again(by):
    rows = [note(by, title) for title in ("One", "Two", "Three")]
    keys = [str(row.pk) for row in rows]
    group = run(by, "note.delete", {"notes": keys}, now=later(minutes=1))
    rows[0].refresh_from_db()
    assert rows[0].deleted_by == str(by.party)
    edit(rows[2], deleted_at=None, deleted_by="")
    answer = take_back(group)
    assert answer.counts == {"revoked": 2, "already gone": 1}
    assert [one.detail for one in answer.members] == [*["undeleted"] * 2, "stood again already, not by this"]
    assert not answer.complete
    assert [said(row)[2] for row in rows] == [False, False, False]
    give_back(group)
    assert [said(row)[2] for row in rows] == [True, True, False]
    assert list(Note.objects.order_by("pk").values_list("pk", flat=True)) == [int(key) for key in keys]


def test_projects_are_archived_and_unarchived_as_one_action(by):
    groups = [factories.project(by, name=name, tasks=1, conversation=name) for name in ("A", "B")]
    keys = [str(key) for key in Project.objects.values_list("pk", flat=True)]
    group = run(by, "project.archive", {"projects": keys}, now=later(minutes=1))
    assert Project.objects.filter(archived_at=None).count() == 0
    assert take_back(group).counts == {"revoked": 2}
    assert Project.objects.filter(archived_at=None, deleted_at=None).count() == len(groups)


def test_only_the_fields_of_the_change_are_put_back_and_only_knowingly(by):
    row = note(by)
    group = update(by, row, title="Better plan")
    edit(row, body="What alice wrote")
    with pytest.raises(EditedSinceError) as refused:
        take_back(group)
    [told] = refused.value.edited
    assert told["fields"] == [
        {"field": "body", "then": "First draft", "now": "What alice wrote", "override": "What alice wrote"}
    ]
    assert said(row) == ("Better plan", "What alice wrote", False)
    take_back(group, overrides={group.pk: refused.value.seen})
    assert said(row) == ("Plan", "What alice wrote", False)
    give_back(group)
    assert said(row) == ("Better plan", "What alice wrote", False)


@pytest.mark.parametrize("operation", ["create", "update", "delete"])
def test_an_override_passes_over_exactly_what_was_seen(by, operation):
    row = note(by)
    group = Effect.objects.get().group
    if operation == "update":
        group = update(by, row, title="Better plan")
    if operation == "delete":
        group = run(by, "note.delete", {"notes": [str(row.pk)]}, now=later(minutes=1))
    edit(row, title="By a person")
    with pytest.raises(EditedSinceError, match=rf"note {row.pk} \(title\) was changed since the agent") as first:
        take_back(group, leave_later=True)
    edit(row, title="By a person, twice")
    with pytest.raises(EditedSinceError) as second:
        take_back(group, overrides={group.pk: first.value.seen})
    assert said(row)[0] == "By a person, twice"
    with pytest.raises(ForPersonsOnlyError):
        take_back(group, by=by, overrides={group.pk: second.value.seen})
    answer = take_back(group, overrides={group.pk: second.value.seen})
    assert "over later changes of title" in answer.members[0].detail
    expected = {
        "create": ("By a person, twice", True),
        "update": ("Plan", False),
        "delete": ("By a person, twice", False),
    }
    assert said(row)[::2] == expected[operation]
    body = json.loads(Record.objects.filter(action="COMPENSATE").latest("pk").body)
    assert body["data"]["overrides"] == "true"
    assert [json.loads(one.body)["data"]["refusal"] for one in Record.objects.filter(action="revoke_refused")] == [
        "edited-since",
        "edited-since",
        "for-persons-only",
    ]
    give_back(group)
    assert Note.objects.count() == 1


def test_an_agent_is_told_of_a_later_change_but_not_what_it_says(by):
    row = note(by)
    group = Effect.objects.get().group
    edit(row, body="private")
    with pytest.raises(EditedSinceError) as refused:
        take_back(group, by=by)
    assert refused.value.edited[0]["fields"] == [{"field": "body"}]


def test_what_was_changed_in_the_trash_is_not_restored_over(by):
    row = note(by)
    group = Effect.objects.get().group
    take_back(group)
    edit(row, body="Changed in the trash")
    with pytest.raises(RestoreClashError, match=r"was edited in the trash \(body\)"):
        give_back(group)
    assert said(row) == ("Plan", "Changed in the trash", True)
    edit(row, body="First draft")
    give_back(group)
    assert said(row) == ("Plan", "First draft", False)


def test_what_has_left_is_gone_and_what_came_to_be_someone_elses_is_neither_touched_nor_shown(by):
    rows = [note(by, title) for title in ("One", "Two")]
    groups = [update(by, row, title="New") for row in rows]
    Note.objects.filter(pk=rows[0].pk).delete()
    answer = take_back(groups[0])
    assert answer.counts == {"already gone": 1}
    edit(rows[1], owner=factories.user("bob"), body="bob's own words")
    with pytest.raises(MembersFailedError, match="belongs to someone else by now"):
        take_back(groups[1])
    assert said(rows[1]) == ("New", "bob's own words", False)


def test_a_change_of_a_row_that_lies_in_the_trash_is_put_back_there(by):
    row = note(by)
    created = Effect.objects.get().group
    changed = update(by, row, title="Better plan")
    with pytest.raises(EditedSinceError) as refused:
        take_back(created, leave_later=True)
    seen = refused.value.seen
    take_back(created, leave_later=True, overrides={created.pk: seen})
    take_back(changed)
    assert said(row) == ("Plan", "First draft", True)
    with pytest.raises(RestoreClashError, match="is in the trash by now: restore that first"):
        give_back(changed)
    give_back(created)
    give_back(changed)
    assert said(row) == ("Better plan", "First draft", False)


def test_an_edit_in_the_trash_stays_one_whatever_is_put_back_there(by):
    row = note(by)
    created = Effect.objects.get().group
    changed = update(by, row, title="Better plan")
    with pytest.raises(EditedSinceError) as refused:
        take_back(created, leave_later=True)
    take_back(created, leave_later=True, overrides={created.pk: refused.value.seen})
    edit(row, body="Changed in the trash")
    with pytest.raises(EditedSinceError) as since:
        take_back(changed)
    take_back(changed, overrides={changed.pk: since.value.seen})
    with pytest.raises(RestoreClashError, match=r"was edited in the trash \(title, body\)"):
        give_back(created)


def test_a_change_comes_back_beside_later_changes_of_other_fields(by):
    row = note(by)
    group = update(by, row, title="Better plan")
    take_back(group)
    edit(row, body="What alice wrote")
    give_back(group)
    assert said(row) == ("Better plan", "What alice wrote", False)


# -- Who builds on it ------------------------------------------------------------------------------------------------


@pytest.fixture
def tower(by):
    """A project, a task that another action hung under it, a change of that task, and the project's archiving."""
    base = factories.project(by, tasks=1)
    key = str(Project.objects.get().pk)
    task = run(by, "task.create", {"project": key, "title": "One more"})
    row = Task.objects.latest("pk")
    ticked = run(by, "task.update", {"task": str(row.pk), "done": True, "title": "Done"})
    archived = run(by, "project.archive", {"projects": [key]})
    return [base, task, ticked, archived]


def test_what_builds_on_an_action_is_known_and_goes_first(by, tower, django_assert_max_num_queries):
    base, task, ticked, archived = tower
    with django_assert_max_num_queries(3):
        builds = dependants.of([group.pk for group in tower])
    how = {(early, late): sorted(one.how) for early, some in builds.items() for late, one in some.items()}
    assert how == {
        (base.pk, task.pk): ["created under"],
        (base.pk, archived.pk): ["changed"],
        (task.pk, ticked.pk): ["changed"],
    }
    assert dependants.closure([base.pk]) == [group.pk for group in reversed(tower)]
    with pytest.raises(DependedOnError, match="2 later actions built on this one") as refused:
        take_back(base)
    assert refused.value.alone
    every = dependants.closure([base.pk])
    results = revoke(groups=every, by=person("alice"), now=later(hours=1), reason="", trigger=Trigger.CLICK)
    assert [result.group for result in results] == every
    assert all(result.unwrap().complete for result in results)
    assert not Project.objects.filter(deleted_at=None).exists()
    assert not Task.objects.filter(deleted_at=None).exists()
    assert Project.objects.get().archived_at is None
    log = [json.loads(record.body)["group"] for record in Record.objects.filter(action="COMPENSATE").order_by("id")]
    assert log.index(str(ticked.pk)) < log.index(str(task.pk)) < log.index(str(base.pk))
    assert dependants.of(every) == {}


def test_one_alone_goes_where_that_is_possible(by, tower):
    base, task, *_ = tower
    with pytest.raises(EditedSinceError):  # the archiving changed the project's row
        take_back(base, leave_later=True)
    with pytest.raises(EditedSinceError) as refused:
        take_back(task, leave_later=True)
    seen = refused.value.seen
    assert take_back(task, leave_later=True, overrides={task.pk: seen}).complete
    assert Task.objects.filter(deleted_at=None).count() == 1


def test_what_was_changed_again_goes_only_after_that(by):
    """Alone it would undo the later change unsaid, and that would bring the earlier one's words back."""
    row = note(by)
    first, other = update(by, row, title="Second"), update(by, row, body="Longer")
    assert dependants.of([first.pk])[first.pk][other.pk].blocks is False
    again = update(by, row, title="Third")
    assert dependants.of([first.pk])[first.pk][again.pk].blocks is True
    with pytest.raises(DependedOnError, match="changed again what it had changed") as refused:
        take_back(first, leave_later=True)
    assert not refused.value.alone
    take_back(again)
    with pytest.raises(EditedSinceError) as since:
        take_back(first, leave_later=True)
    take_back(first, leave_later=True, overrides={first.pk: since.value.seen})
    assert said(row) == ("Plan", "Longer", False)
    give_back(first)
    give_back(again)
    assert said(row) == ("Third", "Longer", False)


def test_where_a_later_one_fails_the_earlier_one_stays(by, tower):
    base, _, ticked, _ = tower
    edit(Task.objects.latest("pk"), title="By a person")
    every = dependants.closure([base.pk])
    results = revoke(groups=every, by=person("alice"), now=later(hours=1), reason="", trigger=Trigger.CLICK)
    refused = {result.group: type(result.refusal) for result in results if result.refusal}
    assert refused == {ticked.pk: EditedSinceError, tower[1].pk: DependedOnError, base.pk: DependedOnError}
    assert Project.objects.get().deleted_at is None


def test_what_a_later_action_deleted_cannot_be_taken_back_without_it(by):
    row = note(by)
    created = Effect.objects.get().group
    factories.run(by, "note.delete", {"notes": [str(row.pk)]}, now=later(minutes=1))
    with pytest.raises(DependedOnError) as refused:
        take_back(created, leave_later=True)
    assert not refused.value.alone
    results = revoke(
        groups=dependants.closure([created.pk]),
        by=person("alice"),
        now=later(hours=1),
        reason="",
        trigger=Trigger.CLICK,
    )
    assert all(result.unwrap().complete for result in results)
    assert said(row)[2]


def test_nobody_elses_word_about_an_id_makes_an_action_depend_on_it(by):
    row = note(by)
    created = Effect.objects.get().group
    for liar in (planner(agent="liar"), planner(owner="bob")):
        declared = [factories.contact(str(row.pk), Operation.UPDATE, type_="note")]
        factories.report(liar, declared, tool="made.up")
    assert dependants.of([created.pk]) == {}
    factories.crm(by)
    for number, operation in enumerate((Operation.CREATE, Operation.UPDATE, Operation.CREATE)):  # ids come back
        factories.report(by, [factories.contact("c_1", operation)], arguments={"n": number})
    first, second, third = Group.objects.filter(tool="crm.create_contact").order_by("pk").values_list("pk", flat=True)
    found = dependants.of([first, second, third])
    # Of the change no way back is declared, so nothing builds on it; it builds on the first all the same.
    assert {key: set(some) for key, some in found.items()} == {first: {second}}
