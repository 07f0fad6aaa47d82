"""Is each failure mode refused, and each warning given, at its place, and nothing else?"""

import json

import pytest

from tests.unit.plans.samples import FIXTURES, NOW, chain, fixture, found, judge, warned, with_step

REFUSED = {
    "article": [("undo-ttl", "steps.1.maxDurationSeconds")],
    "step-id-twice": [("schema", "steps.1.id")],
    "key-not-derived": [("schema", "steps.1.idempotencyKey")],
    "two-steps-one-key": [("schema", "steps.1.idempotencyKey")],
    "expiry-without-zone": [("schema", "mandate.expiresAt")],
    "unknown-member": [("schema", "steps.3.timeoutSeconds")],
    "cap-missing": [("schema", "mandate.maxSpendEur")],
    "pivot-past-last-step": [("pivot-ordering", "pivotIndex")],
    "irreversible-before-pivot": [("pivot-ordering", "steps.1.class")],
    "compensable-after-pivot": [("pivot-ordering", "steps.3.class")],
    "compensable-without-compensation": [("class-coherence", "steps.1.compensation")],
    "irreversible-with-compensation": [("class-coherence", "steps.2.compensation")],
    "reference-to-no-step": [("class-coherence", "steps.1.compensation.args.ref")],
    "reference-to-later-step": [("class-coherence", "steps.0.compensation.args.also.0")],
    "step-above-cap": [("mandate", "steps.2.maxSpendEur"), ("mandate", "mandate.maxSpendEur")],
    "sum-above-cap": [("mandate", "mandate.maxSpendEur")],
    "mandate-ended": [("mandate", "mandate.expiresAt")],
    "wait-without-bound": [("undo-ttl", "steps.1.maxDurationSeconds")],
    "window-too-short": [("undo-ttl", "steps.0.undoTtlSeconds")],
    "key-of-other-bytes": [("key-integrity", "steps.2.idempotencyKey")],
    "broken-in-six-ways": [
        ("schema", "steps.1.idempotencyKey"),
        ("pivot-ordering", "steps.3.class"),
        ("class-coherence", "steps.0.compensation"),
        ("mandate", "mandate.maxSpendEur"),
        ("undo-ttl", "steps.1.maxDurationSeconds"),
        ("key-integrity", "steps.2.idempotencyKey"),
    ],
}
WARNED = {
    "sound": [],
    "warn-unwinding-too-long": [("unwind-time", "steps.0.undoTtlSeconds")],
    "warn-spend-undeclared": [("spend-undeclared", "steps.3.maxSpendEur")],
    "warn-outlives-mandate": [("outlives-mandate", "mandate.expiresAt")],
    "warn-window-held-across": [
        ("window-held-across", "steps.2.maxDurationSeconds"),
        ("outlives-mandate", "mandate.expiresAt"),
    ],
    "warn-window-undeclared": [("window-undeclared", "steps.1.undoTtlSeconds")],
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_failure_mode_is_refused_at_its_place(name):
    verdict = judge(fixture(name))
    assert found(verdict) == REFUSED[name]
    assert not verdict.ok


@pytest.mark.parametrize("name", WARNED)
def test_each_warning_is_given_at_its_place_and_refuses_only_under_strict(name):
    verdict = judge(fixture(name))
    assert (verdict.ok, found(verdict), warned(verdict)) == (True, [], WARNED[name])
    strict = judge(fixture(name), "strict")
    assert (strict.ok, found(strict), warned(strict)) == (not WARNED[name], WARNED[name], [])


def test_every_fixture_is_expected_somewhere():
    assert {path.stem for path in FIXTURES.glob("*.json")} == {*REFUSED, *WARNED}


def test_the_article_s_plan_is_refused_in_the_article_s_words():
    (violation,) = judge(fixture("article")).violations
    assert violation.place == "steps[1]"
    for word in ("s2", "compliance.review", "s1", "budget.reserve", "86400 s", "pivot", "s4", "fee.capture"):
        assert word in violation.message
    assert "declare maxDurationSeconds" in violation.message
    assert "make the human decision the pivot" in violation.message


def test_the_article_s_plan_is_accepted_with_a_bound_and_windows_sized_to_it():
    bounded = with_step(fixture("article"), 1, maxDurationSeconds=432_000)
    assert found(judge(bounded)) == [("undo-ttl", "steps.0.undoTtlSeconds")]
    assert judge(with_step(bounded, 0, undoTtlSeconds=432_360)).ok
    assert not judge(with_step(bounded, 0, undoTtlSeconds=432_359)).ok


def test_the_article_s_plan_is_accepted_with_the_human_step_as_the_pivot():
    plan = with_step(fixture("article"), 1, **{"class": "irreversible", "compensation": None})
    plan = with_step(plan, 2, **{"class": "retriable"})
    assert judge(plan | {"pivotIndex": 1}).ok


def test_p1_waits_that_add_up_to_exactly_the_window_pass_and_one_second_more_does_not():
    plan = chain([600, 3_000], [3_600, None])
    assert judge(plan).ok
    longer = judge(with_step(plan, 1, maxDurationSeconds=3_001))
    assert found(longer) == [("undo-ttl", "steps.0.undoTtlSeconds")]
    assert "3601 s" in longer.violations[0].message
    assert "1 s too short" in longer.violations[0].message


def test_p2_ten_steps_of_99_under_a_cap_of_250_are_refused_on_their_sum():
    plan = chain([1] * 9, [100] * 9)
    plan["mandate"]["maxSpendEur"] = 250
    for step in plan["steps"]:
        step["maxSpendEur"] = 99
    verdict = judge(plan)
    assert found(verdict) == [("mandate", "mandate.maxSpendEur")]
    assert "990 EUR" in verdict.violations[0].message


def test_three_times_a_tenth_is_three_tenths():
    plan = chain([1, 1], [9, 9])
    plan["mandate"]["maxSpendEur"] = 0.3
    for step in plan["steps"]:
        step["maxSpendEur"] = 0.1
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert judge(plan).ok


@pytest.mark.parametrize(
    "token", ["-5", "NaN", "Infinity", "-Infinity", "1e400", "true", '"12"', "null", "[]", "1.5.2"]
)
@pytest.mark.parametrize("member", ["maxSpendEur", "maxDurationSeconds", "undoTtlSeconds"])
def test_p3_what_is_no_amount_is_a_schema_error_that_names_the_member(member, token):
    plan = json.dumps(with_step(fixture("sound"), 1, **{member: 99_991}))
    verdict = judge(plan.replace("99991", token).encode())
    assert not verdict.ok
    if token != "1.5.2":  # the one that is no JSON at all
        assert found(verdict) == [("schema", f"steps.1.{member}")]


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-01T00:00:00",
        "2027-01-01",
        "2027-01-01T00:00:00+0000",
        "2027-01-01 00:00:00Z",
        "2027-W01-1T00:00:00Z",
        "2027-02-30T00:00:00Z",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:00:00Z\n",
        "٢٠٢٧-01-01T00:00:00Z",
        "tomorrow",
    ],
)
def test_p4_an_expiry_that_is_no_instant_is_refused_with_a_reason(text):
    plan = fixture("sound")
    plan["mandate"]["expiresAt"] = text
    verdict = judge(plan)
    assert found(verdict) == [("schema", "mandate.expiresAt")]
    assert "RFC 3339" in verdict.violations[0].message


@pytest.mark.parametrize("text", ["2027-01-01T00:00:00+02:00", "2027-01-01t00:00:00.5z", "2027-01-01T00:00:00-00:00"])
def test_every_form_of_rfc_3339_is_an_instant(text):
    plan = fixture("sound")
    plan["mandate"]["expiresAt"] = text
    assert judge(plan).ok


def test_a_mandate_has_ended_at_the_very_instant_it_names():
    plan = fixture("sound")
    plan["mandate"]["expiresAt"] = "2026-11-30T01:00:00+01:00"
    assert ("mandate", "mandate.expiresAt") in found(judge(plan, now=NOW))


@pytest.mark.parametrize("number", ["9007199254740992", "9007199254740993", "-9007199254740992", "1e17", "9" * 5_000])
def test_p5_integers_beyond_what_a_double_can_tell_apart_are_refused_wherever_they_stand(number):
    plan = json.dumps(fixture("sound")).replace('"$s1.id"', number)
    assert found(judge(plan.encode())) == [("schema", "steps.0.compensation.args.ref")]
    spend = json.dumps(with_step(fixture("sound"), 0, maxSpendEur=77_777)).replace("77777", number)
    assert found(judge(spend.encode())) == [("schema", "steps.0.maxSpendEur")]


def test_whole_numbers_may_be_written_as_floats():
    plan = json.dumps(with_step(fixture("sound"), 0, maxDurationSeconds=77_777, undoTtlSeconds=99_999))
    assert judge(plan.replace("77777", "60.0").encode()).ok


def test_a_step_before_every_window_holds_no_token_that_decays():
    assert judge(chain([None, 5], [None, 5])).ok


def test_each_unbounded_step_is_reported_once_with_the_shortest_window_it_breaks():
    verdict = judge(chain([1, None, None], [50, 40, 60]))
    assert found(verdict) == [("undo-ttl", "steps.1.maxDurationSeconds"), ("undo-ttl", "steps.2.maxDurationSeconds")]
    assert all("40 s" in remark.message for remark in verdict.violations)


def test_a_window_too_short_even_without_the_unbounded_wait_is_reported_beside_it():
    verdict = judge(chain([30, None], [20, None]))
    assert found(verdict) == [("undo-ttl", "steps.1.maxDurationSeconds"), ("undo-ttl", "steps.0.undoTtlSeconds")]
    assert "at least 30 s" in verdict.violations[1].message


def test_a_price_is_no_reference_and_an_id_may_hold_a_dot():
    plan = with_step(fixture("sound"), 1, id="a.b", idempotencyKey="sg_library:a.b")
    plan["steps"][1]["compensation"]["args"] = {"ref": "$a.b.id", "text": "$5.00 off", "deep": [{"x": ["$s1"]}]}
    assert judge(plan).ok
    plan["steps"][1]["compensation"]["args"] = {"deep": [{"x": ["$s3"]}]}
    assert found(judge(plan)) == [("class-coherence", "steps.1.compensation.args.deep.0.x.0")]


def test_text_of_an_author_comes_out_inert():
    plan = with_step(fixture("wait-without-bound"), 1, tool="evil\u202e\u0007tool")
    message = judge(plan).violations[0].message
    assert "\u202e" not in message
    assert "\u0007" not in message
    assert message.isprintable()


def test_what_was_left_out_is_said():
    assert len(judge(fixture("article")).filled_in) == 4
    assert judge(fixture("sound")).filled_in == []
