"""When several processes do the same at once, does it happen once, and is every one of them told the truth?"""

import json
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from audit.models import Record
from sideeffects import actors
from sideeffects.models import Declaration, Effect, Group, MemberOutcome, Revocation
from sideeffects.services import fence, purge
from sideeffects.services.execute import InProgressError
from sideeffects.services.remove import Trigger
from sideeffects.services.revoke import InFlightError, revoke
from sideeffects.tools import REGISTRY
from sideeffects.transitions import EffectState, GroupState
from sideeffects.workspace.models import Note, Project, Task
from tests import crew, factories
from tests.crew import GATE, GATED, Crew
from tests.factories import NOW, later, person, planner

pytestmark = pytest.mark.django_db(transaction=True)

DATA = Path(__file__).parents[2] / "data"
ARGUMENTS = {"name": "Q3 launch", "tasks": ["One", "Two"]}
TWENTY = 20


@pytest.fixture
def by():
    return planner()


def alive():
    return Project.objects.filter(deleted_at=None).count(), Task.objects.filter(deleted_at=None).count()


def written(action):
    return Record.objects.filter(action=action).count()


def execute(by, tool="project.create", arguments: Any = ARGUMENTS, key=""):
    return ["execute", {"token": str(by.token.pk), "tool": tool, "arguments": arguments, "key": key}]


@contextmanager
def gate():
    """Keep the gated tool from ending."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [GATE])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [GATE])


def until_someone_waits_at_the_gate():
    """Of this database: PostgreSQL lists the locks of all, and the tests of another process have a gate too."""
    deadline = time.monotonic() + 60
    here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    waiting = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted AND {here}"
    with connection.cursor() as cursor:
        while True:
            cursor.execute(waiting, [GATE])
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline, "nobody came"


# -- Revoke and restore --------------------------------------------------------------------------------------------


def test_twenty_parallel_revokes_run_once_and_the_others_are_told_so(four, by):
    group = factories.project(by)
    told = four.all_at_once(*[["revoke", {"groups": [str(group.pk)]}]] * TWENTY)
    assert Counter(told) == {"revoked": 1, "already": 19}
    assert alive() == (0, 0)
    assert written("COMPENSATE") == 1
    assert Revocation.objects.count() == 1
    assert MemberOutcome.objects.count() == 11
    assert Task.history.filter(history_type="~").count() == 10


def test_revoke_and_restore_at_once_leave_everything_or_nothing(four, by):
    group = factories.project(by)
    words = {"groups": [str(group.pk)]}
    told = four.all_at_once(*[["revoke", words], ["restore", words]] * (TWENTY // 2))
    assert set(told) <= {"revoked", "restored", "already", "NothingInTrashError"}
    times = {action: written(action) for action in ("COMPENSATE", "restored")}
    assert (told.count("revoked"), told.count("restored")) == (times["COMPENSATE"], times["restored"])
    in_trash = times["COMPENSATE"] - times["restored"]
    assert in_trash in {0, 1}
    assert alive() == ((0, 0) if in_trash else (1, 10))
    state = EffectState.REVOKED if in_trash else EffectState.ACTIVE
    assert set(Effect.objects.values_list("state", flat=True)) == {state}
    assert Revocation.objects.filter(restored_at=None).count() == in_trash


def test_lists_in_opposite_orders_wait_for_each_other_and_never_for_ever(four, by):
    groups = [str(factories.project(by, name=f"P{number}", tasks=3).pk) for number in range(10)]
    orders = [["revoke", {"groups": order}] for order in (groups, groups[::-1])]
    told = four.all_at_once(*orders * (TWENTY // 2))
    assert Counter(said for line in told for said in line.split(", ")) == {"revoked": 10, "already": 190}
    assert written("COMPENSATE") == 10
    assert alive() == (0, 0)


def test_purges_and_restores_at_once_leave_each_group_whole_or_gone_and_say_so_once(four, by):
    alice, day = person("alice"), later(days=28)
    groups = [factories.project(by, name=f"P{number}", tasks=3) for number in range(12)]
    ids = [group.pk for group in groups]
    revoke(groups=ids, by=alice, now=NOW, reason="", trigger=Trigger.CLICK)
    purge.announce(by=actors.system("beat"), now=day)
    back = [["restore", {"groups": [str(key)]}] for key in ids[::3]]
    told = four.all_at_once(*[["purge", {"days": 30}]] * (TWENTY - len(back)), *back)
    purged = sum(int(said) for said in told if said.isdigit())
    restored = told.count("restored")
    assert (purged, written("trash_purged")) == (len(ids) - restored, len(ids) - restored)
    assert restored + told.count("PurgedError") == len(back)
    assert (Project.objects.count(), Task.objects.count()) == (restored, 3 * restored)
    for group in groups:
        assert len(set(Effect.objects.filter(group=group).values_list("state", flat=True))) == 1


def test_tools_that_change_rows_and_revokes_of_them_all_wait_in_one_order(four, by):
    """Twenty at once: lists in both orders, and tools that change, delete and tower over the same rows."""
    for number in range(4):
        factories.run(by, "note.create", {"title": f"N{number}"})
    notes = [str(key) for key in Note.objects.order_by("pk").values_list("pk", flat=True)]
    for key in notes:
        factories.run(by, "note.update", {"note": key, "title": "Changed"})
    groups = [str(key) for key in Group.objects.order_by("pk").values_list("pk", flat=True)]
    lists = [["revoke", {"groups": order}] for order in (groups, groups[::-1])]
    changes = [execute(by, "note.update", {"note": key, "body": "Also"}) for key in notes]
    deletes = [execute(by, "note.delete", {"notes": order}) for order in (notes, notes[::-1])]
    told = four.all_at_once(*lists * 4, *changes * 2, *deletes * 2)
    assert {said for line in told for said in line.split(", ")} <= {
        *("revoked", "already", "EditedSinceError", "DependedOnError", "recorded", "replayed"),
        *("InProgressError", "ToolFailedError", "RevokedBeforeError"),
    }
    for effect in Effect.objects.filter(operation="create"):
        deleted = Note.objects.exclude(deleted_at=None).filter(pk=effect.object_id)
        standing = Effect.objects.filter(operation="delete", object_id=effect.object_id, state=EffectState.ACTIVE)
        assert deleted.exists() is (effect.state == EffectState.REVOKED or standing.exists())
    assert Revocation.objects.count() == written("COMPENSATE")


# -- Executed here --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "k"])
def test_twenty_parallel_calls_run_once(four, by, key):
    told = Counter(four.all_at_once(*[execute(by, key=key)] * TWENTY))
    assert told["recorded"] == 1
    assert told.keys() <= {"recorded", "replayed", "InProgressError"}
    assert alive() == (1, 2)
    assert (Group.objects.count(), Effect.objects.count()) == (1, 3)
    assert (written("group_opened"), written("group_landed")) == (1, 1)
    assert four.all_at_once(execute(by, key=key)) == ["replayed"]


def test_one_key_for_two_calls_at_once_belongs_to_one_of_them(four, by):
    other = {"name": "Other", "tasks": []}
    told = four.all_at_once(*[execute(by, key="k"), execute(by, arguments=other, key="k")] * (TWENTY // 2))
    assert told.count("recorded") == 1
    assert told.count("KeyReusedError") == TWENTY // 2
    assert set(told) <= {"recorded", "replayed", "InProgressError", "KeyReusedError"}
    assert Project.objects.count() == 1


def test_while_a_call_runs_its_twins_are_told_at_once_and_others_are_a_mismatch(four, by):
    arguments = {"name": "slow"}
    with gate():
        four.start({0: [execute(by, GATED, arguments, "k")]})
        until_someone_waits_at_the_gate()
        twins = [execute(by, GATED, arguments, "k"), execute(by, GATED, {"name": "other"}, "k")]
        four.start(dict.fromkeys((1, 2, 3), twins * 3))
        assert Counter(four.told(1, 2, 3)) == {"InProgressError": 9, "KeyReusedError": 9}
        group = Group.objects.get()
        four.start({1: [["revoke", {"groups": [str(group.pk)]}]]})
        assert four.told(1) == ["InFlightError"]
        assert (group.state, Project.objects.count()) == (GroupState.OPEN, 0)
    assert four.told(0) == ["recorded"]
    assert Project.objects.count() == 1
    assert four.all_at_once(execute(by, GATED, arguments, "k")) == ["replayed"]


def test_a_process_killed_in_the_middle_of_a_call_leaves_it_open_and_nothing_written(by, settings, monkeypatch):
    monkeypatch.setitem(REGISTRY, GATED, crew.GATED_TOOL)
    alone = Crew(1)
    with gate():
        alone.start({0: [execute(by, GATED, {"name": "slow"})]})
        until_someone_waits_at_the_gate()
        alone.kill(0)
    alone.close()
    group = Group.objects.get()
    assert (group.state, Project.objects.count(), Effect.objects.count()) == (GroupState.OPEN, 0, 0)
    with pytest.raises(InProgressError):
        factories.run(by, GATED, {"name": "slow"}, now=later(seconds=settings.CALL_LEASE_SECONDS - 1))
    with pytest.raises(InFlightError):
        revoke(groups=[group.pk], by=person("alice"), now=later(), reason="", trigger=Trigger.CLICK)[0].unwrap()
    again = factories.run(by, GATED, {"name": "slow"}, now=later(seconds=settings.CALL_LEASE_SECONDS))
    assert (again.result, again.group) == ("recorded", group)
    assert (Project.objects.count(), Effect.objects.count()) == (1, 1)
    assert (written("group_opened"), written("group_landed")) == (1, 1)


# -- Reported and imported -------------------------------------------------------------------------------------------


def test_twenty_parallel_reports_of_one_call_are_one_group(four, by):
    told = four.all_at_once(*[["report", {"token": str(by.token.pk), "ids": ["a", "b"]}]] * TWENTY)
    assert Counter(told) == {"recorded new": 1, "replayed": 19}
    assert (Group.objects.count(), Effect.objects.count(), Declaration.objects.count()) == (1, 2, 1)
    assert written("group_landed") == 1


def test_parallel_reports_that_differ_are_one_held_and_one_conflict(four, by):
    both = [["report", {"token": str(by.token.pk), "ids": ids}] for ids in (["a"], ["a", "b"])]
    told = Counter(four.all_at_once(*both * (TWENTY // 2)))
    assert told == {"recorded new": 1, "replayed": 9, "conflict new": 1, "conflict": 9}
    assert Group.objects.count() == 1
    assert Declaration.objects.filter(held=True).count() == 1
    assert Declaration.objects.get(held=False).seen == TWENTY // 2
    assert (written("group_landed"), written("declaration_differed")) == (1, 1)


def test_twenty_decisions_about_one_conflict_have_one_winner(four, by):
    factories.report(by, [factories.contact("a")])
    conflict = factories.report(by, [factories.contact("a"), factories.contact("b")]).conflict
    assert conflict is not None
    wanted = ["adopt", "split", "dismiss", "split"] * (TWENTY // 4)
    told = Counter(
        four.all_at_once(*[["decide", {"conflict": str(conflict.pk), "how": one, "who": "alice"}] for one in wanted])
    )
    conflict.refresh_from_db()
    won = conflict.resolution
    assert told == {won: 1, "already": wanted.count(won) - 1, "AlreadyResolvedError": TWENTY - wanted.count(won)}
    assert written("conflict_resolved") == 1
    assert Group.objects.count() == (2 if won == "split" else 1)
    assert Effect.objects.count() == {"adopt": 2, "split": 3, "dismiss": 1}[won]


def test_twenty_sweeps_and_clicks_fire_a_fence_once(four, by):
    group = factories.project(by)
    Group.objects.update(state=GroupState.OPEN)
    fence.put(group=group.pk, reason="", by=person("alice"), now=NOW)
    Group.objects.update(state=GroupState.LANDED)
    told = Counter(four.all_at_once(*[["fire", {}], ["revoke", {"groups": [str(group.pk)]}]] * (TWENTY // 2)))
    assert told["fired 1"] == 1
    assert told["revoked"] <= 1
    assert (written("COMPENSATE"), written("fence_ended"), alive()) == (1, 1, (0, 0))
    assert Revocation.objects.get().trigger == ("click" if told["revoked"] else "fence")


def test_two_imports_of_one_transcript_at_once_count_each_call_once(four, by):
    words = {"file": str(DATA / "airline-transcript.jsonl"), "tools": str(DATA / "airline-tools.toml")}
    told = four.all_at_once(*[["import", words]] * 4)
    figures = [json.loads(line) for line in told]
    assert sum(one["groups"] for one in figures) == Group.objects.count() == 9
    assert sum(one["conflicts"] for one in figures) == Declaration.objects.filter(held=False).count() == 1
    assert {one["calls"] for one in figures} == {12}
    assert Declaration.objects.get(held=False).seen == 1
    assert Group.objects.get(title="Sent a certificate over 50 to ada").repeats == 1
