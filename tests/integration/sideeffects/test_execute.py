"""Does a tool that runs here run once for its key, and is what it wrote one thing with its record?"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from audit import log
from audit.models import Record
from sideeffects.models import Effect, Group
from sideeffects.policies import ScopeMissingError
from sideeffects.services import execute as execution
from sideeffects.services.declare import declare_tool
from sideeffects.services.execute import (
    ArgumentsError,
    InProgressError,
    LeaseLostError,
    RevokedBeforeError,
    ToolFailedError,
)
from sideeffects.services.record import KeyReusedError, ToolBlockedError
from sideeffects.services.remove import Trigger
from sideeffects.services.restore import restore
from sideeffects.services.revoke import InFlightError, revoke
from sideeffects.targets.local import MembersFailedError
from sideeffects.tools import REGISTRY, Contract, RegisteredTool, Written
from sideeffects.transitions import GroupState, Operation, RevokeClass
from sideeffects.workspace.models import Note, Project, Task
from tests import factories
from tests.external import bodies
from tests.factories import NOW, later, person, planner

pytestmark = [pytest.mark.django_db, pytest.mark.both]

run: Any = factories.run  # its group is there wherever a test looks at it
ARGUMENTS = {"name": "Q3 launch", "tasks": ["One", "Two"]}


def actions():
    return list(Record.objects.exclude(action__startswith="tool_").order_by("id").values_list("action", flat=True))


def take_back(group, *, now=NOW):
    return revoke(groups=[group.pk], by=person("alice"), now=now, reason="", trigger=Trigger.CLICK)[0].unwrap()


@pytest.fixture
def tool(monkeypatch):
    """Register a tool whose function is given, for one test."""

    def register(function, *, name="test.tool", contract=None):
        contract = contract or Contract(revoke_class=RevokeClass.LOCAL)
        monkeypatch.setitem(REGISTRY, name, RegisteredTool(name, contract, None, function))
        return name

    return register


def writes_a_note(arguments, call):
    note = Note.objects.create(owner=call.owner, created_at=call.now, title="written")
    return [Written(type="note", id=str(note.pk), title=note.title)]


# -- Once -------------------------------------------------------------------------------------------------------------


def test_a_call_runs_once_and_lands_with_what_it_wrote():
    by = planner()
    first = run(by, "project.create", ARGUMENTS)
    again = run(by, "project.create", ARGUMENTS, now=later(days=400))
    assert (first.result, again.result) == ("recorded", "replayed")
    assert again.group == first.group
    assert (Project.objects.count(), Task.objects.count()) == (1, 2)
    assert list(Effect.objects.values_list("type", "revoke_class")) == [
        ("project", "local_compensate"),
        ("task", "local_compensate"),
        ("task", "local_compensate"),
    ]
    assert actions() == ["group_opened", "group_landed"]
    assert bodies("group_landed")[0]["data"]["source"] == "executed"


def test_members_permuted_and_numbers_spelt_otherwise_are_the_same_call():
    by = planner()
    run(by, "project.create", ARGUMENTS)
    assert run(by, "project.create", dict(reversed(ARGUMENTS.items()))).result == "replayed"


def test_one_key_and_other_arguments_are_refused_and_nothing_runs():
    by = planner()
    first = run(by, "project.create", ARGUMENTS, idempotency_key="k").group
    with pytest.raises(KeyReusedError) as refused:
        run(by, "project.create", {"name": "Other"}, idempotency_key="k")
    assert refused.value.group == str(first.pk)
    assert Project.objects.count() == 1


def test_a_key_under_which_something_was_reported_runs_nothing():
    by = planner()
    factories.report(by, [], tool="project.create", arguments=ARGUMENTS, idempotency_key="k")
    with pytest.raises(KeyReusedError):
        run(by, "project.create", ARGUMENTS, idempotency_key="k")
    assert not Project.objects.exists()


def test_a_new_key_says_that_it_is_meant():
    by = planner()
    for key in ("", "second", "third"):
        run(by, "project.create", ARGUMENTS, idempotency_key=key)
    assert Project.objects.count() == 3


# -- While it runs ----------------------------------------------------------------------------------------------------


def test_the_same_body_while_it_runs_is_in_progress_and_another_one_a_mismatch(tool):
    by, told = planner(), []

    def asks_again(arguments, call):
        for body in ({"n": 1.0}, {"n": 2}):
            with pytest.raises((InProgressError, KeyReusedError)) as refused:
                run(by, "test.tool", body, idempotency_key="k", now=later(seconds=59))
            told.append(type(refused.value))
        return writes_a_note(arguments, call)

    name = tool(asks_again)
    assert run(by, name, {"n": 1}, idempotency_key="k").result == "recorded"
    assert told == [InProgressError, KeyReusedError]
    assert Note.objects.count() == 1


def left_open(by, name, arguments, monkeypatch):
    """Leave behind what a process leaves that dies after it has taken its lease."""
    with monkeypatch.context() as patch:
        patch.setattr(execution, "_run", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(by, name, arguments)
    return Group.objects.get(state=GroupState.OPEN)


def test_an_expired_lease_means_that_nothing_was_written_and_the_call_runs_again(monkeypatch, settings):
    by = planner()
    group = left_open(by, "project.create", ARGUMENTS, monkeypatch)
    assert not Project.objects.exists()
    with pytest.raises(InFlightError):
        take_back(group)
    with pytest.raises(InProgressError) as busy:
        run(by, "project.create", ARGUMENTS, now=later(seconds=settings.CALL_LEASE_SECONDS - 1))
    assert busy.value.group == str(group.pk)
    again = run(by, "project.create", ARGUMENTS, now=later(seconds=settings.CALL_LEASE_SECONDS))
    assert (again.result, again.group) == ("recorded", group)
    assert Project.objects.count() == 1
    assert actions() == ["group_opened", "revoke_refused", "group_landed"]


def test_a_try_that_outlived_its_lease_writes_nothing(monkeypatch, settings):
    by = planner()
    original = execution._run
    overtaken: list[bool] = []

    def overtake(*words, **more):
        if not overtaken:
            overtaken.append(True)
            late = later(seconds=settings.CALL_LEASE_SECONDS + 1)
            assert run(by, "project.create", ARGUMENTS, now=late).result == "recorded"
        return original(*words, **more)

    monkeypatch.setattr(execution, "_run", overtake)
    with pytest.raises(LeaseLostError):
        run(by, "project.create", ARGUMENTS)
    assert Project.objects.count() == 1
    assert Group.objects.get().state == GroupState.LANDED
    assert actions() == ["group_opened", "group_landed"]


def test_a_try_whose_lease_another_has_taken_writes_nothing_even_before_the_other_lands(monkeypatch, settings):
    by = planner()
    original = execution._run

    def overtaken(*words, **more):
        monkeypatch.setattr(execution, "_run", original)
        late = later(seconds=settings.CALL_LEASE_SECONDS)
        with monkeypatch.context() as patch:
            patch.setattr(execution, "_run", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                run(by, "project.create", ARGUMENTS, now=late)
        return original(*words, **more)

    monkeypatch.setattr(execution, "_run", overtaken)
    with pytest.raises(LeaseLostError):
        run(by, "project.create", ARGUMENTS)
    assert not Project.objects.exists()
    assert Group.objects.get().state == GroupState.OPEN


# -- When it fails ----------------------------------------------------------------------------------------------------


def test_a_tool_that_fails_leaves_nothing_but_its_failure_and_may_be_tried_again(tool):
    by, attempts = planner(), []

    def fails_once(arguments, call):
        written = writes_a_note(arguments, call)
        attempts.append(written)
        if len(attempts) == 1:
            raise ValueError("password=hunter2")
        return written

    name = tool(fails_once)
    with pytest.raises(ToolFailedError) as failed:
        run(by, name, {})
    assert "hunter2" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert not Note.objects.exists()
    row = Group.objects.get()
    assert (row.state, row.reason) == (GroupState.FAILED, "test.tool raised ValueError")
    assert "hunter2" not in bodies("call_failed")[0]["data"]["error"]
    assert run(by, name, {}).result == "recorded"
    assert Note.objects.count() == 1


@pytest.mark.parametrize("wrong", ["breaks the database", "names a type nobody serves"])
def test_whatever_a_tool_does_wrong_its_failure_is_recorded(tool, wrong):
    def goes_wrong(arguments, call):
        if wrong == "breaks the database":
            with connection.cursor() as cursor:
                cursor.execute("SELECT nothing FROM nowhere")
        return [*writes_a_note(arguments, call), Written(type="unheard-of", id="1")]

    with pytest.raises(ToolFailedError):
        run(planner(), tool(goes_wrong), {})
    assert not Note.objects.exists()
    assert Group.objects.get().state == GroupState.FAILED
    assert not Effect.objects.exists()


def test_when_the_landing_cannot_be_recorded_nothing_has_run(monkeypatch):
    append, calls = log.append, []

    def fails_once(entries, **words):
        calls.append(entries[0].action)
        if entries[0].action == "group_landed":
            raise OSError("disk full")
        return append(entries, **words)

    monkeypatch.setattr(log, "append", fails_once)
    with pytest.raises(ToolFailedError):
        run(planner(), "project.create", ARGUMENTS)
    assert not Project.objects.exists()
    assert Group.objects.get().state == GroupState.FAILED


@pytest.mark.parametrize(
    ("arguments", "member"),
    [
        ({}, "name"),
        ({"name": "x", "taks": []}, "taks"),
        ({"name": "x", "tasks": [{"title": "y"}]}, "tasks"),
        ({"name": ["x"]}, "name"),
    ],
)
def test_arguments_that_do_not_fit_are_named_and_nothing_happens(arguments, member):
    with pytest.raises(ArgumentsError) as refused:
        run(planner(), "project.create", arguments)
    assert set(refused.value.errors) == {member}
    assert not Group.objects.exists()


def test_a_blocked_tool_does_not_run(tool):
    name = tool(writes_a_note, contract=Contract(revoke_class=RevokeClass.LOCAL, blocked=True))
    with pytest.raises(ToolBlockedError):
        run(planner(), name, {})
    assert not Note.objects.exists()
    assert not Group.objects.exists()
    assert bodies("call_refused")[0]["data"]["reason"] == "tool-blocked"


def test_executing_needs_the_scope():
    with pytest.raises(ScopeMissingError):
        run(planner(scopes=["read"]), "project.create", ARGUMENTS)
    assert not Group.objects.exists()


# -- Again after a revoke ---------------------------------------------------------------------------------------------


def test_what_a_person_took_back_does_not_run_again_by_itself():
    by = planner()
    group = run(by, "project.create", ARGUMENTS).group
    take_back(group)
    with pytest.raises(RevokedBeforeError) as refused:
        run(by, "project.create", ARGUMENTS, now=later(days=1))
    assert refused.value.group == str(group.pk)
    assert Project.objects.count() == 1
    assert bodies("call_refused")[0]["data"]["reason"] == "revoked-before"
    assert run(by, "project.create", ARGUMENTS, idempotency_key="I mean it").result == "recorded"
    assert Project.objects.filter(deleted_at=None).count() == 1


def test_what_was_restored_is_a_replay_again():
    by = planner()
    group = run(by, "project.create", ARGUMENTS).group
    take_back(group)
    restore(groups=[group.pk], by=person("alice"), now=later(minutes=1), reason="")
    assert run(by, "project.create", ARGUMENTS, now=later(minutes=2)).result == "replayed"


# -- Classes ----------------------------------------------------------------------------------------------------------


def changes_a_note(note, call, *, hold=True):
    if hold:
        call.hold("note", [str(note.pk)])
    Note.objects.filter(pk=note.pk).update(title="changed")
    return Written(type="note", id=str(note.pk), operation=Operation.UPDATE)


def test_the_class_is_each_effects_own(tool):
    kept = Note.objects.create(owner=factories.user("alice"), created_at=NOW, title="kept")

    def mixed(arguments, call):
        return [
            *writes_a_note(arguments, call),
            Written(type="contact", id="c_1", external=True),
            Written(type="contact", id="", external=True),
            Written(type="contact", id="c_2", operation=Operation.DELETE, external=True),
            changes_a_note(kept, call),
        ]

    contract = Contract(
        revoke_class=RevokeClass.EXTERNAL, target="crm.example", compensations={"create": "DELETE /contacts/{id}"}
    )
    group = run(planner(), tool(mixed, contract=contract), {}).group
    assert list(group.effects.values_list("revoke_class", "target__name")) == [
        ("local_compensate", None),
        ("governed_external", "crm.example"),
        ("none", "crm.example"),
        ("none", "crm.example"),
        ("local_compensate", None),
    ]
    answer = take_back(group)
    assert answer.counts == {"revoked": 2, "not attempted": 1, "not revocable": 2}
    kept.refresh_from_db()
    assert kept.title == "kept"
    assert not answer.complete
    assert Note.objects.get(title="written").deleted_at == NOW


def test_a_change_of_what_the_tool_does_not_hold_is_not_kept(tool):
    kept = Note.objects.create(owner=factories.user("alice"), created_at=NOW, title="kept")
    unheld = tool(lambda _, call: [changes_a_note(kept, call, hold=False)])
    with pytest.raises(ToolFailedError):
        run(planner(), unheld, {})
    kept.refresh_from_db()
    assert kept.title == "kept"


def test_a_local_object_that_is_written_for_someone_else_cannot_be_taken_back_on_the_owners_behalf(tool):
    def for_bob(arguments, call):
        note = Note.objects.create(owner=factories.user("bob"), created_at=call.now, title="bob's")
        return [Written(type="note", id=str(note.pk))]

    group = run(planner(), tool(for_bob), {}).group
    with pytest.raises(MembersFailedError, match="belongs to someone else"):
        take_back(group)
    assert Note.objects.get().deleted_at is None


def test_a_tool_that_writes_nothing_has_nothing_to_take_back(tool):
    group = run(planner(), tool(lambda *_: []), {}).group
    assert group.state == GroupState.LANDED
    assert not Effect.objects.exists()


def test_each_call_keeps_the_contract_it_was_made_under(tool):
    by = planner()
    name = tool(writes_a_note)
    before = run(by, name, {"n": 1}).group
    tool(writes_a_note, contract=Contract(revoke_class=RevokeClass.LOCAL, title="Wrote {arguments.n}"))
    after = run(by, name, {"n": 2}).group
    assert [group.version_number() for group in (before, after)] == ["1", "2"]
    assert (before.title, after.title) == ("", "Wrote 2")
    assert len(bodies("tool_declared")) == 2


def test_a_contract_that_comes_back_is_a_version_of_its_own():
    by = planner()
    contracts = [Contract(revoke_class=RevokeClass.NONE, reason=reason) for reason in ("a", "b", "a", "a")]
    numbers = [
        declare_tool(name="x", contract=contract, by=by, now=NOW + timedelta(minutes=minute)).number
        for minute, contract in enumerate(contracts)
    ]
    assert numbers == [1, 2, 3, 3]
