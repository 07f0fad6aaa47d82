"""Is malformed input reported completely, at its place, and never a crash or a hang?"""

import json
import random
import resource
import time
from pathlib import Path

import jsonschema
import pytest
from django.conf import settings

from plans.core import artifact, schema
from tests.unit.plans.samples import FIXTURES, dotted, fixture, found, judge, with_step

PUBLISHED = jsonschema.Draft202012Validator(schema.published())


def paths(verdict):
    return {dotted(remark.path) for remark in verdict.violations}


def test_a_malformed_plan_reports_every_bad_member_with_its_path():
    data = b"""{"sagaId": "", "planVersion": 0, "colour": 1, "authoredBy": {"agent": 5}, "pivotIndex": -1,
      "mandate": {"maxSpendEur": 1e400, "expiresAt": "2027-01-01"},
      "steps": [{"id": "a", "id": "b", "tool": "", "class": "z", "maxSpendEur": NaN, "maxDurationSeconds": true,
                 "undoTtlSeconds": "12", "compensation": {"args": {"x": 9007199254740993, "y": "\\ud800"}}}, 7]}"""
    assert paths(judge(data)) == {
        "sagaId", "planVersion", "colour", "authoredBy.agent", "authoredBy.model", "pivotIndex", "mandate.maxSpendEur",
        "mandate.expiresAt", "steps.0.id", "steps.0.tool", "steps.0.class", "steps.0.maxSpendEur",
        "steps.0.maxDurationSeconds", "steps.0.undoTtlSeconds", "steps.0.compensation.tool",
        "steps.0.compensation.args.x", "steps.0.compensation.args.y", "steps.1",
    }  # fmt: skip


def test_rules_are_still_asked_where_only_unknown_members_and_annotations_are_at_fault():
    plan = fixture("broken-in-six-ways") | {"colour": "blue", "planVersion": 0}
    assert len(found(judge(plan))) == 8


@pytest.mark.parametrize("owner", ["plan", "mandate", "author", "step", "compensation", "args", "deep"])
def test_a_member_that_stands_twice_is_refused_at_every_level(owner):
    plan = fixture("sound")
    plan["steps"][1]["compensation"]["args"] = {"deep": {"er": [{"n": 1}]}, "ref": "$s2"}
    marks = {
        "plan": '"pivotIndex": 2',
        "mandate": '"maxSpendEur": 250',
        "author": '"agent": "planner"',
        "step": '"tool": "order.draft"',
        "compensation": '"tool": "order.discard"',
        "args": '"ref": "$s2"',
        "deep": '"n": 1',
    }
    for layout in ({"indent": 2}, {}, {"separators": (",", ":")}):
        text = json.dumps(plan, **layout)
        mark = marks[owner] if layout.get("separators") is None else marks[owner].replace(": ", ":")
        assert text.count(mark) == 1
        assert judge(text.encode()).ok
        verdict = judge(text.replace(mark, f"{mark}, {mark}").encode())
        assert not verdict.ok
        assert "more than once" in verdict.violations[0].message


@pytest.mark.parametrize(
    "disguise", ["\\u002c", "\\u003a", "\\u0022,\\u0022", "\\u007b,\\u007d", ",,,,", "1e2", "1E5", "1.0e1", "100.0"]
)
def test_no_disguise_hides_a_member_that_stands_twice(disguise):
    argument = disguise if disguise[0] == "1" else f'"{disguise}"'
    for twice in ('"id":"s1",', '"id":"s1","id":"s1",', '"maxSpendEur":1,', '"tool":"aaaaaaaaaaa",', '"tool":"",'):
        text = json.dumps(fixture("sound"), separators=(",", ":")).replace('"$s1.id"', argument, 1)
        text = text.replace('"id":"s1",', f'{twice}"id":"s1",', 1)
        assert not judge(text.encode()).ok


def test_escapes_and_deep_arguments_are_no_fault():
    plan = with_step(fixture("sound"), 0, tool="budget/réserve \U0001f600")
    plan["steps"][0]["compensation"]["args"] = {"a": [[[[[[[[{"b": "$s1"}]]]]]]]]}
    for data in (json.dumps(plan), json.dumps(plan, ensure_ascii=False)):
        verdict = judge(data.encode())
        assert (found(verdict), verdict.digest) == ([], judge(plan).digest)
    plan["steps"][0]["compensation"]["args"] = {"a": [[[[[[[[{"b": "$s9"}]]]]]]]]}
    assert found(judge(plan))[0][0] == "class-coherence"


@pytest.mark.parametrize(
    "data", [b"", b" ", b"[]", b"5", b'"x"', b"null", b"{", b"\xff", b"\xef\xbb\xbf{}", b"NaN", b"{}{}"]
)
def test_what_is_no_plan_at_all_gets_a_reason(data):
    verdict = judge(data)
    assert not verdict.ok
    assert verdict.violations[0].message
    assert (verdict.digest, verdict.timeline, verdict.counterexample, verdict.fixes) == (None, None, None, [])


HOSTILE = {
    "brackets": lambda size: b"[" * size,
    "objects": lambda size: b'{"steps":' * (size // 9),
    "a long text": lambda size: b'{"sagaId":"' + b"x" * size + b'"}',
    "numbers": lambda size: b'{"steps":[' + b"0," * (size // 2) + b"0]}",
    "lists": lambda size: b'{"steps":[' + b"[]," * (size // 3) + b"0]}",
    "members": lambda size: b"{" + b",".join(b'"m%d":0' % n for n in range(size // 12)) + b"}",
    "digits": lambda size: b'{"pivotIndex":' + b"9" * size + b"}",
    "empty steps": lambda size: b'{"steps":[' + b"{}," * min(9_999, size // 3) + b"{}]}",
    "surrogates": lambda size: b'{"x":"' + b"\\ud800" * (size // 6) + b'"}',
    "dots": lambda size: b'{"steps":[{"compensation":{"args":{"a":"$' + b"." * size + b'"}}}]}',
}


def _is_refused_within(data: bytes, seconds: float, kilobytes: int) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    verdict = judge(data)
    assert not verdict.ok
    assert 0 < len(verdict.violations) <= 1_001
    assert time.monotonic() - began < seconds
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < kilobytes


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_input_is_refused_in_bounded_time_and_memory(kind):
    _is_refused_within(HOSTILE[kind](100_000), seconds=5, kilobytes=50_000)
    _is_refused_within(HOSTILE[kind](10_000_000)[:10_000_000], seconds=5, kilobytes=100_000)  # above what is read


@pytest.mark.soak
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_input_of_the_largest_size_read_is_refused_in_bounded_time_and_memory(kind):
    _is_refused_within(HOSTILE[kind](artifact.MAX_BYTES - 100), seconds=30, kilobytes=400_000)


def mutants(count: int, seed: int):
    """Yield plans with bytes changed, cut, doubled, and tokens put where they do not belong."""
    rng = random.Random(seed)
    sources = [path.read_bytes() for path in sorted(FIXTURES.glob("*.json"))]
    tokens = (
        rb"""NaN 1e400 -1 null true { [ ] " \ud800 \ 9007199254740993 "id":"s1", $s2.x 1E5 , : {"a":1,"a":2}""".split()
    )
    tokens += [b"\xff", b"\x00", b"9" * 400, b"[" * 200]
    for _ in range(count):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data) + 1)
            kind = rng.randrange(4)
            if kind == 0 and place < len(data):
                data[place] = rng.randrange(256)
            elif kind == 1:
                del data[place : place + rng.randint(1, 40)]
            elif kind == 2:
                data[place:place] = rng.choice(tokens)
            else:
                data[place:place] = data[rng.randrange(len(data) + 1) :][: rng.randint(1, 60)]
        yield bytes(data)


def _survives(count: int, seed: int) -> None:
    for data in mutants(count, seed):
        verdict = judge(data)
        assert verdict.ok is not bool(verdict.violations), data
        json.dumps([remark.message for remark in verdict.violations + verdict.warnings], ensure_ascii=False).encode()
        if verdict.tree is not None and not verdict.faults and "schema" not in {rule for rule, _ in found(verdict)}:
            assert PUBLISHED.is_valid(verdict.tree), data


def test_two_thousand_mutants_get_a_verdict_and_each_refusal_a_reason():
    _survives(2_000, seed=8785)


@pytest.mark.soak
def test_two_hundred_thousand_mutants_get_a_verdict_in_bounded_memory():
    _survives(20_000, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _survives(180_000, seed=2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_the_published_file_is_the_schema_that_is_derived():
    file = Path(settings.BASE_DIR) / "templates" / "static" / "plan.schema.json"
    assert json.loads(file.read_text()) == schema.published(), (
        "regenerate: python3 manage.py shell -c 'import json; from plans.core import schema; "
        f"print(json.dumps(schema.published(), indent=2))' > {file}"
    )


def test_the_published_schema_is_valid_and_agrees_on_every_fixture():
    jsonschema.Draft202012Validator.check_schema(schema.published())
    for path in FIXTURES.glob("*.json"):
        plan = json.loads(path.read_text())
        shapely = path.stem not in ("unknown-member", "cap-missing", "expiry-without-zone")
        assert PUBLISHED.is_valid(plan) is shapely, path.stem


def test_a_list_of_faults_ends_somewhere():
    plan = fixture("sound") | {f"m{n}": 0 for n in range(5_000)}
    verdict = judge(plan)
    assert len(verdict.violations) == 1_001
    assert "More than 1000" in verdict.violations[-1].message


def test_more_steps_than_are_read_are_refused():
    plan = fixture("sound")
    plan["steps"] = plan["steps"][:1] * 10_001
    assert "10001 steps" in judge(plan).violations[0].message
