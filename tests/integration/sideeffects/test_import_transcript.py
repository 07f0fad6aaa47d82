"""Do transcripts come in as they were: every call counted once, failures and repeats told apart, nothing lost?"""

import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Record, Unsealed
from sideeffects import actors, toolfiles, transcripts
from sideeffects.models import Declaration, Effect, Group, Target, ToolVersion
from sideeffects.services.record import record
from sideeffects.services.take_in import take_in
from sideeffects.transitions import GroupState
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.both]

DATA = Path(__file__).parents[2] / "data"
TOOLS, OWN = DATA / "airline-tools.toml", DATA / "airline-transcript.jsonl"
BESIDE = Path(__file__).parents[3].parent / "shared" / "real" / "airline-transcripts.jsonl"
REAL = [BESIDE] if BESIDE.exists() else []  # another's data, which lies beside the repository where it is there at all
BOOK = {"origin": "OSL", "destination": "LIS"}


@pytest.fixture(autouse=True)
def alice():
    return factories.user("alice")


def imported(file=OWN, *, tools=TOOLS, owner="alice"):
    """Import a file; return the figures, and what was said beside them."""
    out, err = io.StringIO(), io.StringIO()
    call_command("import_transcript", str(file), tools=str(tools), owner=owner, json=True, stdout=out, stderr=err)
    [line] = out.getvalue().splitlines()
    return json.loads(line), err.getvalue()


def figures(calls, failed, groups, replays, conflicts):
    return {"calls": calls, "failed": failed, "groups": groups, "replays": replays, "conflicts": conflicts}


def refused(file=OWN, **options):
    with pytest.raises(CommandError) as told:
        imported(file, **options)
    assert told.value.returncode == 2
    assert not Group.objects.exists()
    assert not Record.objects.exists()
    return str(told.value)


def asked(*calls):
    uses = [
        {"id": id_, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        for id_, tool, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": uses}


def result(id_, content):
    return {"role": "tool", "tool_call_id": id_, "content": content}


def booked(key, *, id_="1", arguments=None):
    return [asked((id_, "book_reservation", arguments or BOOK)), result(id_, json.dumps({"reservation_id": key}))]


@pytest.fixture
def written(tmp_path):
    """Write a transcript; its lines are conversations by name."""

    def write(**conversations: Any):
        lines = [json.dumps({"conversation": name, "messages": said}) for name, said in conversations.items()]
        file = tmp_path / "transcript.jsonl"
        file.write_text("\n".join(lines))
        return file

    return write


# -- Real transcripts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REAL)
def test_the_real_transcripts_come_to_exactly_what_is_true_of_them(real):
    assert imported(real)[0] == figures(152, 21, 130, 0, 1)
    assert Counter(Group.objects.values_list("tool", flat=True)) == {
        "update_reservation_flights": 39,
        "cancel_reservation": 36,
        "transfer_to_human_agents": 29,
        "book_reservation": 13,
        "update_reservation_baggages": 8,
        "send_certificate": 5,
    }
    assert set(Group.objects.values_list("state", "source")) == {("landed", "imported")}
    assert Counter(Effect.objects.values_list("revoke_class", flat=True)) == {"none": 117, "governed_external": 13}
    assert Effect.objects.filter(object_id="HATHAT").values("group").distinct().count() > 1
    records, groups = Record.objects.count(), list(Group.objects.order_by("pk").values())
    assert imported(real)[0] == figures(152, 21, 0, 131, 0)
    assert Record.objects.count() == records
    assert list(Group.objects.order_by("pk").values()) == groups


@pytest.mark.parametrize("real", REAL)
def test_the_booking_that_was_made_twice_is_held_once_and_declared_twice(real):
    imported(real)
    conflict = Declaration.objects.get(held=False)
    assert conflict.group.conversation == "airline-000-3"
    assert [effect.object_id for effect in conflict.group.effects.all()] == ["HATHAU"]
    assert [effect["id"] for effect in conflict.effects] == ["HATHAV"]
    assert [effect["id"] for effect in conflict.difference["only_first"]] == ["HATHAU"]
    assert [effect["id"] for effect in conflict.difference["only_second"]] == ["HATHAV"]


# -- Our own ----------------------------------------------------------------------------------------------------------


def test_a_transcript_comes_in_as_it_was():
    said, notes = imported()
    assert said == figures(12, 1, 9, 1, 1)
    assert imported()[0] == figures(12, 1, 0, 11, 0)
    assert "1 of the groups are in flight" in notes
    first = Group.objects.filter(conversation="talk-1").earliest("pk")
    assert (first.title, first.run, first.source) == ("Booked OSL to LIS", "monday", "imported")
    effect = first.effects.get()
    assert (effect.type, effect.object_id, effect.revoke_class) == ("reservation", "SAME01", "governed_external")
    assert effect.target is not None
    assert effect.target.name == "airline"
    assert Effect.objects.filter(object_id="SAME01").values("group").distinct().count() == 3
    assert [effect["id"] for effect in Declaration.objects.get(held=False).effects] == ["NEXT02"]
    assert {"reservation", "certificate", "transfer"} == set(Effect.objects.values_list("type", flat=True))


def test_an_id_used_twice_for_different_calls_is_two_groups():
    imported()
    certificates = Group.objects.filter(conversation="talk-2")
    assert sorted(certificates.values_list("title", "repeats")) == [
        ("Sent a certificate over 50 to ada", 1),
        ("Sent a certificate over 75 to ada", 0),
    ]


def test_results_out_of_order_are_told_apart_and_a_missing_one_is_in_flight():
    imported()
    groups = Group.objects.filter(conversation="talk-3").order_by("pk")
    assert [group.effects.values_list("object_id", flat=True).first() for group in groups] == ["ONE", "TWO", None]
    assert [group.state for group in groups] == ["landed", "landed", "open"]


def test_every_import_seals_what_it_recorded():
    imported()
    assert Record.objects.filter(action="group_landed").count() == 8
    assert not Unsealed.objects.exists()
    [actor] = Record.objects.filter(action="group_landed").values_list("actor", flat=True).distinct()
    assert actor == "system:import"


def test_what_is_imported_asks_nothing_of_a_target_and_says_where_it_would():
    imported()
    target = Target.objects.get()
    assert (target.name, target.base_url) == ("airline", "https://airline.example/api")
    assert Record.objects.filter(action="target_seen").count() == 1
    assert set(ToolVersion.objects.values_list("number", flat=True)) == {1}
    assert not Effect.objects.exclude(state="active").exists()


def test_without_json_the_figures_are_for_people():
    out = io.StringIO()
    call_command("import_transcript", str(OWN), tools=str(TOOLS), owner="alice", stdout=out, stderr=io.StringIO())
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["calls", "12"],
        ["failed", "1"],
        ["groups", "9"],
        ["replays", "1"],
        ["conflicts", "1"],
    ]


def test_standard_input_and_pipes_are_read_too(monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Pipe(OWN.read_bytes())))
    assert imported("-")[0] == figures(12, 1, 9, 1, 1)


# -- Again, longer, interrupted ---------------------------------------------------------------------------------------


def test_a_conversation_that_has_grown_adds_only_what_is_new(written):
    start = booked("A", id_="1")
    assert imported(written(c=start))[0] == figures(1, 0, 1, 0, 0)
    grown = [*start, *booked("B", id_="2", arguments={"n": 2})]
    assert imported(written(c=grown))[0] == figures(2, 0, 1, 1, 0)


def test_a_call_in_flight_lands_when_its_result_comes(written):
    call, answer = booked("A")
    assert imported(written(c=[call]))[0] == figures(1, 0, 1, 0, 0)
    assert imported(written(c=[call]))[0] == figures(1, 0, 0, 1, 0)
    assert imported(written(c=[call, answer]))[0] == figures(1, 0, 0, 1, 0)
    group = Group.objects.get()
    assert (group.state, group.effects.get().object_id) == (GroupState.LANDED, "A")


def test_a_call_in_flight_that_turns_out_failed_is_failed(written):
    call, _ = booked("A")
    imported(written(c=[call]))
    assert imported(written(c=[call, result("1", "Error: no seats")]))[0] == figures(1, 1, 0, 0, 0)
    assert Group.objects.get().state == GroupState.FAILED


def test_a_failed_call_tried_again_is_recorded(written):
    call, answer = booked("A")
    assert imported(written(c=[call, result("1", "Error: no seats"), call, answer]))[0] == figures(2, 1, 1, 0, 0)


def test_an_import_that_was_interrupted_is_completed_by_the_next(monkeypatch):
    done: list[Any] = []

    def dies(**words):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(record(**words))
        return done[-1]

    with monkeypatch.context() as patch:
        patch.setattr("sideeffects.services.take_in.record", dies)
        with pytest.raises(KeyboardInterrupt):
            imported()
    assert not Unsealed.objects.exists()
    before = Group.objects.count()
    said = imported()[0]
    assert said["calls"] == 12
    assert before + said["groups"] == 9
    assert Group.objects.get(title="Sent a certificate over 50 to ada").repeats == 1


def test_conflicts_beyond_the_cap_are_said_and_never_counted_as_new(written, monkeypatch):
    monkeypatch.setattr("sideeffects.services.compare.MOST_CONFLICTS", 2)
    file = written(c=[message for number in range(6) for message in booked(f"R{number}")])
    said, notes = imported(file)
    assert said == figures(6, 0, 1, 3, 2)
    assert "3 declarations differed from more than is kept" in notes
    assert imported(file)[0] == figures(6, 0, 0, 6, 0)


def test_what_was_reported_already_is_not_doubled_by_its_transcript(written):
    by = factories.planner()
    factories.report(
        by, [factories.contact("A", type_="reservation")], tool="book_reservation", arguments=BOOK, conversation="c"
    )
    assert imported(written(c=booked("A")))[0] == figures(1, 0, 0, 1, 0)


# -- What is not known is said ----------------------------------------------------------------------------------------


def test_a_tool_that_is_not_described_is_recorded_as_none(written):
    said, notes = imported(written(c=[asked(("1", "hotel.book", {})), result("1", '{"reservation_id": "A"}')]))
    assert said["groups"] == 1
    assert "hotel.book is not described" in notes
    effect = Effect.objects.get()
    assert (effect.type, effect.object_id, effect.revoke_class) == ("hotel.book", "", "none")
    assert "nothing is known" in effect.reason


def test_a_result_without_its_id_cannot_be_taken_back_and_that_is_said(written):
    said, notes = imported(written(c=[asked(("1", "book_reservation", BOOK)), result("1", "OK")]))
    assert said["groups"] == 1
    assert "1 results hold no id" in notes
    assert Effect.objects.get().revoke_class == "none"


def test_arguments_that_are_no_json_do_not_lose_the_call(written):
    call, answer = booked("A")
    call["tool_calls"][0]["function"]["arguments"] = '{"origin": "OSL", "desti'
    said, notes = imported(written(c=[call, answer]))
    assert said["groups"] == 1
    assert "1 calls have arguments that are not a JSON object" in notes
    assert Effect.objects.get().object_id == "A"


def test_arguments_hold_what_no_database_does_and_the_call_is_recorded(written):
    file = written(c=booked("A", arguments={"origin": "a\0b", "destination": "\u202etxt", "n": 2**70}))
    assert imported(file)[0]["groups"] == 1
    assert Group.objects.get().title == "Booked ab to \u202etxt"


def test_a_target_known_under_another_address_keeps_it_and_that_is_said(tmp_path):
    imported()
    moved = tmp_path / "tools.toml"
    moved.write_text(TOOLS.read_text().replace("https://airline.example/api", "https://evil.example"))
    assert "airline is known as https://airline.example/api; that stays." in imported(tools=moved)[1]
    assert Target.objects.get().base_url == "https://airline.example/api"


# -- What is wrong is named, and nothing is imported ------------------------------------------------------------------


def test_bad_lines_are_named_by_number_and_member_and_nothing_is_imported(tmp_path):
    file = tmp_path / "t.jsonl"
    good = OWN.read_text()
    file.write_text(good + '{"conversation": "x"}\n{\n' + good)
    said = refused(file)
    assert f"{file}: line 6: messages: is missing" in said
    assert f"{file}: line 7 is not JSON" in said
    assert said.endswith("Nothing was imported.")


def test_many_bad_lines_are_counted_and_the_first_are_shown(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text("{\n" * 1000)
    said = refused(file)
    assert len(said.splitlines()) == 52
    assert "and 950 more" in said


def test_a_bad_tools_file_is_named(tmp_path):
    tools = tmp_path / "tools.toml"
    tools.write_text('[tools.book_reservation]\nclass = "external"\ntarget = "airlin"\n')
    said = refused(tools=tools)
    assert f"{tools}: tools.book_reservation.class: 'external' is no class" in said
    assert f"{tools}: tools.book_reservation.target: 'airlin' is not described" in said


def test_tools_that_this_console_declares_itself_are_not_described_by_a_file(tmp_path):
    tools = tmp_path / "tools.toml"
    tools.write_text('[tools."email.send"]\nclass = "none"\nreason = "x"\n')
    assert "This console declares email.send itself" in refused(tools=tools)


@pytest.mark.parametrize("which", ["file", "tools"])
@pytest.mark.parametrize("wrong", ["missing", "folder", "bytes"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, which, wrong):
    path = tmp_path / "x"
    if wrong == "folder":
        path.mkdir()
    if wrong == "bytes":
        path.write_bytes(b"\xff\xfe")
    said = refused(path) if which == "file" else refused(tools=path)
    assert str(path) in said


def test_an_owner_who_is_not_there_is_named():
    assert refused(owner="nobody") == "There is no person called nobody."


# -- What it costs ----------------------------------------------------------------------------------------------------


def test_queries_a_call_do_not_grow_with_what_is_there():
    by, owner, tools = actors.system("import"), factories.user("alice"), toolfiles.read(TOOLS.read_text())
    counts = []
    for start in (0, 40):
        talks = [
            transcripts.Conversation(
                1, f"c{number}", "", [transcripts.ToolUse("book_reservation", BOOK, "1", '{"reservation_id": "A"}')]
            )
            for number in range(start, start + 20)
        ]
        for _ in ("groups", "replays"):
            with CaptureQueriesContext(connection) as queries:
                take_in(conversations=talks, tools=tools, owner=owner, by=by, now=NOW)
            counts.append(len(queries))
    assert counts[:2] == counts[2:]
    assert counts[0] <= 20 * 16
    assert counts[1] <= 20 * 11
