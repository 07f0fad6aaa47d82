"""Does the command print and exit as it says?"""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from plans.core import artifact
from tests.unit.plans.samples import FIXTURES

NOW = "2026-11-30T00:00:00Z"


def run(*args: object, capsys):
    """Return exit status and what was written to either stream."""
    try:
        call_command("validate_plan", *map(str, args), "--now", NOW)
        status: object = 0
    except SystemExit as ended:
        status = ended.code
    written = capsys.readouterr()
    return status, written.out.splitlines(), written.err


def test_the_article_s_plan_is_one_violation_then_the_warnings_and_status_1(capsys):
    status, lines, _ = run(FIXTURES / "article.json", capsys=capsys)
    assert status == 1
    kinds = [line.split()[0] for line in lines[1:]]
    assert kinds[0] == "violation"
    assert kinds.count("violation") == 1
    assert kinds[1:7] == ["warning"] * 6
    assert lines[1].split()[1:3] == ["steps[1]", "undo-ttl"]
    assert "without a gap" in lines[-1]


def test_status_is_0_only_if_all_pass(capsys):
    sound, refused = FIXTURES / "sound.json", FIXTURES / "sum-above-cap.json"
    assert run(sound, capsys=capsys)[0] == 0
    assert run(sound, sound, capsys=capsys)[0] == 0
    assert run(refused, sound, capsys=capsys)[0] == 1
    assert run(FIXTURES / "warn-spend-undeclared.json", capsys=capsys)[0] == 0
    assert run(FIXTURES / "warn-spend-undeclared.json", "--profile", "strict", capsys=capsys)[0] == 1


def test_a_file_that_cannot_be_read_is_status_2_and_the_others_are_still_judged(capsys, tmp_path):
    status, lines, error = run(tmp_path / "none.json", FIXTURES / "mandate-ended.json", tmp_path, capsys=capsys)
    assert status == 2
    assert any("refused: 1 violation" in line for line in lines)
    assert error.count("cannot be read") == 2


def test_json_prints_one_object_a_plan(capsys):
    status, lines, _ = run(FIXTURES / "article.json", FIXTURES / "sound.json", "--json", capsys=capsys)
    first, second = map(json.loads, lines)
    assert status == 1
    assert first["file"].endswith("article.json")
    assert (first["ok"], second["ok"]) == (False, True)
    (violation,) = first["violations"]
    assert violation["rule"] == "undo-ttl"
    assert violation["path"] == ["steps", 1, "maxDurationSeconds"]
    assert violation["fix"] == [{"op": "add", "path": "/steps/1/maxDurationSeconds", "value": 86040}]
    assert len(first["warnings"]) == 6
    assert len(first["digest"]) == 64
    assert first["timeline"]["steps"][0]["window"] == 86400
    assert {"file", "ok", "violations", "warnings", "digest", "timeline"} <= set(second)


def test_jsonl_is_one_plan_a_line_and_streamed(capsys, tmp_path):
    sound = json.dumps(json.loads((FIXTURES / "sound.json").read_text()))
    file = tmp_path / "plans.jsonl"
    file.write_text(f"{sound}\n\n{{\n{'x' * (artifact.MAX_BYTES + 50)}\n{sound}\r\n{sound}")
    status, lines, _ = run(file, "--json", capsys=capsys)
    said = [(one["file"].rpartition(":")[2], one["ok"]) for one in map(json.loads, lines)]
    assert said == [("1", True), ("3", False), ("4", False), ("5", True), ("6", True)]
    assert "at most" in json.loads(lines[2])["violations"][0]["message"]
    assert status == 1


def test_standard_input_is_read_where_the_file_is_a_dash(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((FIXTURES / "sound.json").read_bytes())))
    status, lines, _ = run("-", capsys=capsys)
    assert (status, lines[0]) == (0, "-: accepted")


@pytest.mark.parametrize("text", ["2026-11-30", "now", "2026-11-30T00:00:00"])
def test_now_has_to_be_an_instant(text):
    with pytest.raises(CommandError):
        call_command("validate_plan", str(FIXTURES / "sound.json"), "--now", text)
